"""`nmt translate`: arguments, a file or stdin, or an interactive prompt on a terminal."""

import sys
from typing import TYPE_CHECKING

from nmt_cli.config.tasks import TRANSLATION
from nmt_cli.errors import ConfigError
from nmt_cli.terminal import console
from nmt_cli.terminal import options as opt

if TYPE_CHECKING:
    from nmt_cli.lines.work import Translating
    from nmt_cli.search.translator import Translation
    from nmt_cli.terminal.lines import Lines, Where


def translate(
    text: list[str] | None = opt.argument("[TEXT]...", "Sentences to translate."),
    model: opt.Models = None,
    backward: opt.Backward = None,
    input_file: opt.Input = None,
    output_file: opt.Output = None,
    to: opt.To = None,
    from_: opt.From = None,
    beam: opt.Beam = None,
    n_best: int | None = opt.option("N", "Print the N best with scores."),
    length_penalty: opt.LengthPenalty = None,
    max_length: opt.MaxLength = None,
    prefix: str | None = opt.option("TEXT", "Begin every output with this."),
    suppress: list[str] | None = opt.option("TEXT", "Never write this; may be repeated."),
    settings: opt.SearchSet = None,
    align: bool = opt.switch("--align", "Add word alignments; attention with --json."),
    token_scores: bool = opt.switch("--token-scores", "Add token log-probabilities to --json."),
    attention: opt.Attention = None,
    no_split: bool = opt.switch("--no-split", "Do not split lines into sentences."),
    on_error: opt.OnError = "stop",
    encoding: opt.Encoding = "utf-8",
    column: opt.Column = None,
    from_format: str | None = opt.option(
        "KIND", "Kind of document, such as html, markdown or word; or: lines."
    ),
    glossary: opt.Glossary = None,
    memory: opt.Memory = None,
    html: str | None = opt.output("FILE", "Write a page to review and mend the translations."),
    protect: list[str] | None = opt.option(
        "REGEX", "Words to keep as they are, beside code, tags and addresses; or: numbers, auto."
    ),
    bilingual: bool = opt.switch("--bilingual", "Write each text before its translation."),
    all_texts: bool = opt.switch("--all", "Replace the translations that a catalogue already has."),
    shard: opt.Shard = None,
    ray: opt.Ray = None,
    ray_workers: opt.RayWorkers = None,
    engine: opt.Engine = "auto",
    number_format: opt.Format = None,
    threads: opt.Threads = None,
    device: opt.Device = "auto",
    batch_tokens: opt.Batch = None,
    json: opt.Json = False,
    verbose: opt.Verbose = False,
) -> None:
    """Translate sentences, a file, a document, standard input, or what you type at a prompt.

    Every input line gives one output line, in order. Lines of more sentences than those of the
    training text are split. A model of several languages needs --to, and may need --from. --set
    sets every search option: sample, temperature, top_k, top_p, seed, coverage_penalty, min_length,
    min_length_ratio, max_length_ratio, no_repeat_ngram_size, repetition_penalty.

    In web pages, Markdown, subtitles, catalogues (PO, XLIFF, JSON, ...) and office files (Word,
    LibreOffice, ...), only the text changes. A PDF file becomes a Word document or Markdown. The
    kind of document follows from its name, or from --from-format. Of a folder all documents are
    translated, also in the folders in it; what is newer than its original stays.

    --glossary says how terms are translated; what became of them is told at the end, and by --json.
    A text that --memory has is not translated anew; texts that are like some in it are told.

    Example: nmt translate "The old man reads a book." --beam 5 --n-best 3

    Example: nmt translate report.docx -o report.de.docx
    """
    from nmt_cli.lines.work import Translating
    from nmt_cli.search.translator import suppressed_ids
    from nmt_cli.terminal import documents
    from nmt_cli.terminal import lines as text_lines
    from nmt_cli.terminal.summary import Summary, open_memory

    source = text_lines.Lines(text, input_file, on_error, encoding, column)
    if text and input_file:
        raise ConfigError("give either sentences or --input, not both")
    if html is not None:
        documents.check_is_other(html, [input_file, output_file, *(text or ())])
    if token_scores and not json:
        raise ConfigError("--token-scores needs --json")
    if attention is not None:
        text_lines.check_attention(text, attention)
        if len(model or ()) > 1:
            raise ConfigError("--attention draws one model; give one --model")
    terms = None
    if glossary is not None:
        from nmt_cli.search.glossary import Glossary

        terms = Glossary.read(glossary)
    loaded = opt.open_model(
        model,
        TRANSLATION,
        backward,
        engine=engine,
        number_format=number_format,
        threads=threads,
        device=device,
        batch_tokens=batch_tokens,
    )
    options = loaded.search_options(
        settings or (),
        beam_size=beam,
        n_best=n_best,
        length_penalty=length_penalty,
        max_length=max_length,
        to=to,
        from_=from_,
    )
    has_several = n_best is not None or options.n_best > 1
    loaded.vocabularies.direction(options.from_, options.to)  # or the error that asks for it
    if verbose:
        console.note_engine(loaded.engine_description)
    target = loaded.vocabularies.target
    options = options.override(
        prefix=tuple(target.encode(prefix)) if prefix else None,
        suppressed=suppressed_ids(target, suppress) if suppress else None,
    )
    known = open_memory(memory, loaded, options)
    file = documents.file_of(text, input_file, from_format)
    if file is not None:
        of_lines = {
            "--json": json, "--n-best": has_several, "--align": align, "--attention": attention,
            "--no-split": no_split, "--column": column, "--shard": shard, "--ray": ray,
            "--encoding": encoding != "utf-8", "--on-error": on_error != "stop",
        }  # fmt: skip
        wanted = documents.Wanted(
            file, output_file, from_format, protect or (), all_texts, terms, known, html,
            bilingual, (glossary, memory),
        )  # fmt: skip
        from nmt_cli.terminal.folders import translate_files

        translate_files(loaded, options, wanted, of_lines)
        return
    if from_format is None:  # else it is said that lines are meant
        source.check_no_table()
    documents.check_unused({"--all": all_texts}, "on lines of text")
    if memory is not None:
        documents.check_unused({"--attention": attention}, "with --memory")
    if html is not None:
        documents.check_unused({"--shard": shard, "--ray": ray}, "with --html")
    if bilingual:
        documents.check_unused({"--json": json, "--n-best": has_several}, "with --bilingual")
    summary = Summary(terms, known, html)
    work = Translating(
        model=loaded,
        json=json,
        options=options,
        split=not no_split,
        n_best=has_several,
        align=align,
        token_scores=token_scores,
        bilingual=bilingual,
        glossary=terms,
        memory=known,
        on_found=summary.add,
    )
    if protect:
        documents.check_unused({"--align": align, "--attention": attention}, "with --protect")
        work = documents.protecting(work, protect)
    where = text_lines.Where(shard, ray, ray_workers)
    last = _translate_lines(work, source, output_file, where)
    if ray is None:  # else its processes know
        summary.tell()
    summary.write_page(input_file or "standard input", loaded, options)
    if attention is not None and last is not None:
        first, *others = last.hypotheses[0].parts
        if others:
            console.warn(f"the line has {1 + len(others)} parts; the picture shows the first")
        text_lines.show_attention(loaded, (first.source, first.target), attention)


def _translate_lines(
    work: "Translating", source: "Lines", output: str | None, where: "Where"
) -> "Translation | None":
    """Translate lines, or what is typed at a prompt; return the last translation of a file."""
    from nmt_cli.terminal import lines

    if source.text or source.file is not None or not sys.stdin.isatty():
        last: Translation | None = lines.run("translating", work, source, output, where)
        return last
    from nmt_cli.terminal.documents import check_unused
    from nmt_cli.terminal.prompts import TranslatePrompt

    check_unused({"--output": output, "--shard": where.shard, "--ray": where.ray}, "at the prompt")
    TranslatePrompt(work).run()
    return None
