"""`nmt tokenize`: trains the vocabulary of a configuration, or shows how it splits a text."""

from nmt_cli.terminal import console
from nmt_cli.terminal import options as opt


def tokenize(
    config: opt.Config = None,
    overrides: opt.Set = None,
    data_dir: opt.DataDir = None,
    show: str | None = opt.option("TEXT", "Print the tokens and ids of this text."),
    json: opt.Json = False,
) -> None:
    """Train the BPE vocabulary of a configuration, or reuse the one its run already has.

    Example: nmt tokenize --set tokenizer.vocab_size=4000 --show "Good morning!"
    """
    from nmt_cli.api.functions import tokenize as train_vocabulary

    opt.note_stand_in(config, "tokenize")
    done = train_vocabulary(config, set=overrides, data_dir=data_dir, on_note=console.note)
    found = done.vocabularies.source
    size, made = found.vocab_size, "trained" if done.is_new else "reused"
    console.note(f"vocabulary in {done.folder}: {size:,} tokens ({made})")
    if done.warning:
        console.warn(done.warning)
    if show is not None:
        ids = found.encode(show)
        tokens = found.tokens(ids)
        if json:
            console.result_json({"text": show, "pieces": tokens, "ids": ids})
        else:
            console.result(" ".join(tokens))
            console.result(" ".join(map(str, ids)))
    elif json:
        console.result_json({"folder": str(done.folder), "pieces": size, "trained": done.is_new})
