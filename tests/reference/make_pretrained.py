"""Make the small models of other tools that the tests import, and what those tools make of text.

    pip install -e '.[peers]'
    python tests/reference/make_pretrained.py tests/data/pretrained [NAME]...

The weights are random, the vocabularies are learned from our own sample text.
"""

import functools
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import sentencepiece as spm
import torch
from sentencepiece import sentencepiece_model_pb2
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
from transformers import (
    BertConfig,
    BertModel,
    BertTokenizer,
    BlenderbotConfig,
    BlenderbotForConditionalGeneration,
    BlenderbotSmallConfig,
    BlenderbotSmallForConditionalGeneration,
    BlenderbotSmallTokenizer,
    BlenderbotTokenizer,
    ElectraConfig,
    ElectraModel,
    M2M100Config,
    M2M100ForConditionalGeneration,
    M2M100Tokenizer,
    MarianConfig,
    MarianMTModel,
    MarianTokenizer,
    NllbTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    RobertaConfig,
    RobertaModel,
    RobertaTokenizer,
    XLMRobertaConfig,
    XLMRobertaModel,
    XLMRobertaTokenizer,
)
from transformers.convert_slow_tokenizer import SentencePieceExtractor

SAMPLE = Path(__file__).parents[2] / "data" / "en-de"
TEXTS = (
    "A red dog runs.",
    "Two cats   sleep \u2014 in the sun!",
    " ",
    "\uff26\uff55\uff4c\uff4c width, ﬁne \u2581 and caf\u00e9 \U0001f600 x\u4e2d\u6587y",
    "</s> <unk> <pad> typed",
)
SENTENCES = (TEXTS[0], TEXTS[1], TEXTS[3])
SEEDS = {"small": 24, "large": 10}  # of 24, with the most varied outputs that end
TALK = (
    "A red dog runs.",
    "Two cats   sleep \u2014 don't you?",
    "i'm (here)...now, A.B! caf\u00e9 \U0001f600 x\u4e2d\u6587y",
    " ",
    "</s> __end__ <unk> __unk__ typed",
)


def train_vocabulary(texts: Path, target: Path, rule: str, kind: str = "unigram") -> list[str]:
    """Learn a SentencePiece model and return its tokens without the control tokens."""
    with tempfile.TemporaryDirectory() as folder:
        spm.SentencePieceTrainer.train(
            input=str(texts),
            model_prefix=f"{folder}/m",
            vocab_size=320,
            model_type=kind,
            normalization_rule_name=rule,
            minloglevel=2,
        )
        learned = sentencepiece_model_pb2.ModelProto()
        learned.ParseFromString(Path(folder, "m.model").read_bytes())
        for name in ("input", "model_prefix"):  # where that was on this machine
            learned.trainer_spec.ClearField(name)
        target.write_bytes(learned.SerializeToString())
    model = spm.SentencePieceProcessor(model_file=str(target))
    return [model.id_to_piece(i) for i in range(3, model.vocab_size())]


def make_marian(folder: Path) -> None:
    """Write a random Marian model with two SentencePiece models over one vocabulary."""
    folder.mkdir(parents=True, exist_ok=True)
    tokens = train_vocabulary(SAMPLE / "train.en", folder / "source.spm", "nmt_nfkc")
    tokens += train_vocabulary(SAMPLE / "train.de", folder / "target.spm", "identity")
    names = ["</s>", "<unk>", *dict.fromkeys(tokens), "<pad>"]
    (folder / "vocab.json").write_text(json.dumps({name: i for i, name in enumerate(names)}))
    (folder / "tokenizer_config.json").write_text('{"source_lang": "en", "target_lang": "de"}')
    torch.manual_seed(10)  # of 24, the one with the most varied outputs
    config = MarianConfig(
        vocab_size=len(names),
        d_model=16,
        encoder_layers=2,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=24,
        decoder_ffn_dim=24,
        max_position_embeddings=64,
        activation_function="swish",
        scale_embedding=True,
        pad_token_id=len(names) - 1,
        decoder_start_token_id=len(names) - 1,
        eos_token_id=0,
        forced_eos_token_id=None,
        bos_token_id=None,
    )
    model = MarianMTModel(config).eval()
    strengthen(model)
    with torch.no_grad():
        model.final_logits_bias.copy_(0.2 * torch.randn_like(model.final_logits_bias))
        model.final_logits_bias[0, config.eos_token_id] = 2.5
    model.save_pretrained(folder)
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    tokenizer = MarianTokenizer.from_pretrained(folder)
    rows = [[*split(tokenizer, text), config.eos_token_id] for text in SENTENCES]
    write_answers(model, tokenizer, folder, TEXTS, rows)


def write_bpe(folder: Path, kind: str, specials: list[str], size: int) -> None:
    """Learn byte-pair encoding of "bytes" or of "words" and write vocab.json and merges.txt.

    One token that merges make is left out of the vocabulary of words, as in BlenderbotSmall's.
    """
    folder.mkdir(parents=True, exist_ok=True)
    word_end = {"end_of_word_suffix": "</w>"} if kind == "words" else {}
    learned = Tokenizer(models.BPE(**word_end))
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=True)
    learned.pre_tokenizer = byte_level if kind == "bytes" else pre_tokenizers.WhitespaceSplit()
    alphabet = pre_tokenizers.ByteLevel.alphabet() if kind == "bytes" else []
    lines = (SAMPLE / "train.en").read_text().lower().splitlines()
    lines += ["don't you, i'm here! (no?)", "__newln__ __newln__"] * 50
    ends = {f"{word[-1]}</w>" for word in words_of(learned, lines)} if kind == "words" else set()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        initial_alphabet=alphabet,
        special_tokens=sorted(ends),  # see words_of
        show_progress=False,
        **word_end,
    )
    learned.train_from_iterator(lines, trainer)
    state = json.loads(learned.to_str())["model"]
    merges = [" ".join(pair) for pair in state["merges"]]
    names = sorted(state["vocab"], key=state["vocab"].get)
    if kind == "words":
        names.remove("".join(state["merges"][40]))
        names = [n.removesuffix("</w>") if n.endswith("</w>") else f"{n}@@" for n in names]
    names = list(dict.fromkeys([*specials, *names]))
    (folder / "vocab.json").write_text(json.dumps({n: i for i, n in enumerate(names)}))
    (folder / "merges.txt").write_text("#version: 0.2\n" + "\n".join(merges) + "\n")


def words_of(tokenizer: Tokenizer, lines: list[str]) -> set[str]:
    """Return the words that a trainer splits lines into.

    A trainer numbers the characters that get a `##` or a `</w>` in the order in which it meets the
    words, and that is by chance, as it keeps them in a hash table; of pairs that are equally common
    it merges those with the least ids first. So these characters are given to it as tokens that
    exist already, in an order of their own: otherwise every run would make other models.
    """
    normalise = tokenizer.normalizer.normalize_str if tokenizer.normalizer else str
    split = tokenizer.pre_tokenizer.pre_tokenize_str
    return {word for line in lines for word, _ in split(normalise(line))}


def make_blenderbot(folder: Path, kind: str) -> None:
    """Write a random "small" or "large" Blenderbot."""
    is_small = kind == "small"
    if is_small:
        specials = ["__null__", "__start__", "__end__", "__unk__", "__newln__"]
        write_bpe(folder, "words", specials, 275)
        tokenizer = BlenderbotSmallTokenizer.from_pretrained(folder)
        ids = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    else:
        write_bpe(folder, "bytes", ["<s>", "<pad>", "</s>", "<unk>", "<mask>"], 320)
        tokenizer = BlenderbotTokenizer.from_pretrained(folder)
        ids = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
    sizes = {
        "vocab_size": len(json.loads((folder / "vocab.json").read_text())),
        "d_model": 16,
        "encoder_layers": 1 if is_small else 2,
        "decoder_layers": 1,
        "encoder_attention_heads": 2,
        "decoder_attention_heads": 2,
        "encoder_ffn_dim": 24,
        "decoder_ffn_dim": 24,
        "max_position_embeddings": 48,
        "activation_function": "gelu",
        "scale_embedding": is_small,
        "decoder_start_token_id": 1,
        "forced_eos_token_id": None,
        **ids,
    }
    torch.manual_seed(SEEDS[kind])
    model = (
        BlenderbotSmallForConditionalGeneration(BlenderbotSmallConfig(**sizes))
        if is_small
        else BlenderbotForConditionalGeneration(BlenderbotConfig(**sizes))
    ).eval()
    strengthen(model)
    with torch.no_grad():
        model.final_logits_bias.copy_(0.2 * torch.randn_like(model.final_logits_bias))
        model.final_logits_bias[0, 2] = 2.5
        # As if trained: `transformers` takes such tokens out after the softmax, ours before.
        model.final_logits_bias[0, [ids["pad_token_id"], 1]] = -20.0
    model.save_pretrained(folder)
    end = [] if is_small else [2]
    rows = [[*split(tokenizer, text), *end] for text in TALK[:3]]
    write_answers(model, tokenizer, folder, TALK, rows)


def make_encoder(folder: Path, kind: str) -> None:
    """Write a random encoder: "bert", "electra", "roberta" or "xlm-roberta"."""
    folder.mkdir(parents=True, exist_ok=True)
    if kind in ("bert", "electra"):
        names = ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        learned = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        learned.normalizer = normalizers.BertNormalizer()
        learned.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        lines = [*(SAMPLE / "train.en").read_text().splitlines(), *TALK]
        inner = {f"##{letter}" for word in words_of(learned, lines) for letter in word[1:]}
        trainer = trainers.WordPieceTrainer(
            vocab_size=280, special_tokens=[*names, *sorted(inner)], show_progress=False
        )
        learned.train_from_iterator(lines, trainer)
        ids = learned.get_vocab()
        (folder / "vocab.txt").write_text("".join(f"{n}\n" for n in sorted(ids, key=ids.get)))
        tokenizer = BertTokenizer.from_pretrained(folder)
    elif kind == "roberta":
        write_bpe(folder, "bytes", ["<s>", "<pad>", "</s>", "<unk>", "<mask>"], 320)
        tokenizer = RobertaTokenizer.from_pretrained(folder)
    else:
        train_vocabulary(SAMPLE / "train.de", folder / "sentencepiece.bpe.model", "identity")
        tokenizer = XLMRobertaTokenizer.from_pretrained(folder)
    classes = {
        "bert": (BertConfig, BertModel),
        "electra": (ElectraConfig, ElectraModel),
        "roberta": (RobertaConfig, RobertaModel),
        "xlm-roberta": (XLMRobertaConfig, XLMRobertaModel),
    }
    config, architecture = classes[kind]
    pad = 0 if kind in ("bert", "electra") else 1
    torch.manual_seed(1)
    model = architecture(
        config(
            vocab_size=len(tokenizer),
            hidden_size=16,
            **({"embedding_size": 16} if kind == "electra" else {}),
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=24,
            max_position_embeddings=48,
            pad_token_id=pad,
            type_vocab_size=2 if pad == 0 else 1,
            layer_norm_eps=1e-12 if pad == 0 else 1e-5,
        )
    ).eval()
    strengthen(model)
    model.save_pretrained(folder)
    rows = [split_by_all(tokenizer, text) for text in TALK[:3]]
    width = max(map(len, rows))
    with torch.no_grad():
        states = model(
            torch.tensor([row + [pad] * (width - len(row)) for row in rows]),
            attention_mask=torch.tensor([[1] * len(r) + [0] * (width - len(r)) for r in rows]),
        ).last_hidden_state
    answers = {
        "texts": TALK[:4],
        "ids": [split_by_all(tokenizer, text) for text in TALK[:4]],
        "names": tokenizer.convert_ids_to_tokens(list(range(len(tokenizer)))),
        "first_states": [[round(x, 6) for x in row] for row in states[:, 0].tolist()],
    }
    (folder / "answers.json").write_text(json.dumps(answers))


def split_by_all(tokenizer: PreTrainedTokenizerBase, text: str) -> list[int]:
    """Return the ids that the whole tokenizer gives, with those around the text."""
    return tokenizer(text)["input_ids"]


def strengthen(model: torch.nn.Module) -> None:
    """Make layers so strong that outputs vary, and each weight matter."""
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() == 1:
                weight.add_(0.1 * torch.randn_like(weight))
            elif "position" not in name or "embed" not in name:
                # Strong layers: else outputs repeat their last token for ever.
                scale = 1.2 if "shared" in name else 2.5
                weight.copy_(scale * weight.shape[1] ** -0.5 * torch.randn_like(weight))


def split(tokenizer: PreTrainedTokenizerBase, text: str) -> list[int]:
    """Return the ids of a text, in which nothing stands for a control token."""
    if hasattr(tokenizer, "_tokenize"):
        return [tokenizer._convert_token_to_id(piece) for piece in tokenizer._tokenize(text)]
    parts = tokenizer.backend_tokenizer
    text = parts.normalizer.normalize_str(text) if parts.normalizer else text
    words = [word for word, _ in parts.pre_tokenizer.pre_tokenize_str(text)]
    return [token.id for word in words for token in parts.model.tokenize(word)]


def write_answers(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    folder: Path,
    texts: tuple[str, ...],
    rows: list[list[int]],
) -> None:
    """Write what `transformers` makes of some texts: ids, logits of a padded batch, outputs."""
    pad, start = model.config.pad_token_id, model.config.decoder_start_token_id
    width = max(map(len, rows))
    batch = {
        "input_ids": torch.tensor([row + [pad] * (width - len(row)) for row in rows]),
        "attention_mask": torch.tensor([[1] * len(r) + [0] * (width - len(r)) for r in rows]),
    }
    targets = torch.tensor([[start, 5, 9, 200], [start, 7, 6, 6], [start, 150, 8, 11]])
    with torch.no_grad():
        logits = model(**batch, decoder_input_ids=targets).logits
        never = [[i] for i in {pad, start}]
        limits = {"max_new_tokens": 20, "bad_words_ids": never, "encoder_no_repeat_ngram_size": 0}
        greedy = model.generate(**batch, num_beams=1, do_sample=False, **limits)
        # As CTranslate2 and ours, which end when as many outputs as there are beams have ended.
        limits |= {"early_stopping": True, "length_penalty": 1.0}
        beam = model.generate(**batch, num_beams=4, do_sample=False, **limits)
    answers = {
        "texts": texts,
        "ids": [split(tokenizer, text) for text in texts],
        "sources": rows,
        "targets": targets.tolist(),
        "logits": [[[round(x, 5) for x in row] for row in rows] for rows in logits.tolist()],
        "greedy": [output(row, model.config.eos_token_id) for row in greedy.tolist()],
        "beam": [output(row, model.config.eos_token_id) for row in beam.tolist()],
        "greedy_texts": tokenizer.batch_decode(greedy, skip_special_tokens=True),
    }
    (folder / "answers.json").write_text(json.dumps(answers))


def output(ids: list[int], eos: int) -> list[int]:
    """Return ids without the first token and what follows the end."""
    return ids[1 : ids.index(eos) + 1 if eos in ids else None]


def without(ids: list[int], pad: int) -> list[int]:
    """Return ids without padding."""
    return [i for i in ids if i != pad]


def make_m2m(folder: Path) -> None:
    """Write a random M2M-100 model of eight languages with a SentencePiece model."""
    folder.mkdir(parents=True, exist_ok=True)
    tokens = train_vocabulary(
        SAMPLE / "train.en", folder / "sentencepiece.bpe.model", "identity", "bpe"
    )
    names = ["<s>", "<pad>", "</s>", "<unk>", *tokens]
    (folder / "vocab.json").write_text(json.dumps({name: i for i, name in enumerate(names)}))
    tokenizer = M2M100Tokenizer(
        str(folder / "vocab.json"),
        str(folder / "sentencepiece.bpe.model"),
        src_lang="en",
        language_codes="wmt21",
    )
    tokenizer.save_pretrained(folder)
    # As the published repositories list them; the present `transformers` does not.
    told = {"additional_special_tokens": list(tokenizer.lang_token_to_id)}
    (folder / "special_tokens_map.json").write_text(json.dumps(told))
    ids = tokenizer.lang_token_to_id
    tags = {name: ids[name] for name in ("__en__", "__de__", *ids)}
    finish(folder, tokenizer, tags, len(names) + 8 + 8, seed=14)


def make_nllb(folder: Path) -> None:
    """Write a random NLLB model of three languages with a `tokenizer.json`."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        file = Path(temporary, "m.model")
        tokens = train_vocabulary(SAMPLE / "train.en", file, "nmt_nfkc", "bpe")
        read = SentencePieceExtractor(str(file)).extract(None)
    names = ["<s>", "<pad>", "</s>", "<unk>", *tokens]
    tokenizer = NllbTokenizer(
        vocab={name: i for i, name in enumerate(names)},
        merges=read["merges"],
        _spm_precompiled_charsmap=read["_spm_precompiled_charsmap"],
        src_lang="eng_Latn",
        extra_special_tokens=["eng_Latn", "deu_Latn", "kor_Hang"],
    )
    tokenizer.save_pretrained(folder)
    codes = ("eng_Latn", "deu_Latn", "kor_Hang")
    tags = {name: tokenizer.convert_tokens_to_ids(name) for name in codes}
    finish(folder, tokenizer, tags, len(tokenizer), seed=12)


def finish(folder: Path, tokenizer: Any, tags: dict[str, int], vocab_size: int, seed: int) -> None:
    """Write the random model of a vocabulary, and what `transformers` makes of some texts.

    The first of the `tags` is the language of the texts, the second that of the outputs.
    """
    size, ids = min(tags.values()), list(tags.values())
    torch.manual_seed(seed)
    model = M2M100ForConditionalGeneration(
        M2M100Config(
            vocab_size=vocab_size,
            d_model=16,
            encoder_layers=2,
            decoder_layers=1,
            encoder_attention_heads=2,
            decoder_attention_heads=2,
            encoder_ffn_dim=24,
            decoder_ffn_dim=24,
            max_position_embeddings=64,
            activation_function="relu",
            scale_embedding=True,
        )
    ).eval()
    never = [[i] for i in range(vocab_size) if i not in range(2, size) or i in tags.values()]
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() == 1:
                weight.add_(0.1 * torch.randn_like(weight))
            else:
                scale = 1.2 if "shared" in name else 2.5
                weight.copy_(scale * weight.shape[1] ** -0.5 * torch.randn_like(weight))
        # The first number of each last state is a bias: no token that is no text is likely, as
        # `generate` takes these out after the softmax and we before it.
        norm, table = model.model.decoder.layer_norm, model.model.shared.weight
        norm.weight[0], norm.bias[0], table[:, 0] = 0.0, 10.0, 0.0
        table[[i for (i,) in never], 0] = -4.0
        table[model.config.eos_token_id, 0] = 0.15
    model.save_pretrained(folder)
    sources = [text for text in TEXTS if text.strip() and "</s>" not in text]
    batch = tokenizer(sources, return_tensors="pt", padding=True)
    targets = torch.tensor([[2, ids[1], 9, 200], [2, ids[1], 1, 1], [2, ids[1], 8, 11]])
    limits = {"max_new_tokens": 20, "bad_words_ids": never, "forced_bos_token_id": ids[1]}
    with torch.no_grad():
        logits = model(**batch, decoder_input_ids=targets).logits
        greedy = model.generate(**batch, num_beams=1, do_sample=False, **limits)
        beam = model.generate(
            **batch, num_beams=4, do_sample=False, early_stopping=True, length_penalty=1.0,
            output_scores=True, return_dict_in_generate=True, **limits,
        )  # fmt: skip
    answers = {
        "texts": TEXTS[:4],
        "ids": [tokenizer(text).input_ids for text in TEXTS[:4]],
        "sources": sources,
        "targets": targets.tolist(),
        "logits": [[[round(x, 5) for x in row] for row in rows] for rows in logits.tolist()],
        "greedy": [without(row[1:], 1) for row in greedy.tolist()],
        "beam": [without(row[1:], 1) for row in beam.sequences.tolist()],
        "beam_scores": beam.sequences_scores.tolist(),
        "greedy_texts": tokenizer.batch_decode(greedy[:, 2:], skip_special_tokens=True),
        "names": [tokenizer.convert_ids_to_tokens(i) for i in range(max(ids) + 1)],
    }
    (folder / "answers.json").write_text(json.dumps(answers))


if __name__ == "__main__":
    target = Path(sys.argv[1])
    makers = {
        "marian": make_marian,
        "m2m_100": make_m2m,
        "nllb": make_nllb,
        "blenderbot-small": lambda folder: make_blenderbot(folder, "small"),
        "blenderbot": lambda folder: make_blenderbot(folder, "large"),
    }
    for kind in ("bert", "electra", "roberta", "xlm-roberta"):
        makers[kind] = functools.partial(make_encoder, kind=kind)
    for name in sys.argv[2:] or makers:
        makers[name](target / name)
