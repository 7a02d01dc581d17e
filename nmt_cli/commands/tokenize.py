"""`nmt tokenize`: trains the vocabulary of a configuration, encodes its text, splits a text."""

from nmt_cli.errors import ConfigError
from nmt_cli.terminal import console
from nmt_cli.terminal import options as opt


def tokenize(
    config: opt.Config = None,
    overrides: opt.Set = None,
    data_dir: opt.DataDir = None,
    show: str | None = opt.option("TEXT", "Print the tokens and ids of this text."),
    json: opt.Json = False,
    encode: bool = opt.switch("--encode", "Encode the text too, as nmt train would."),
    shard: opt.Shard = None,
    ray: opt.Ray = None,
    ray_workers: int | None = opt.option("N", "Shares on the cluster; default: its machines."),
    store: opt.Store = None,
) -> None:
    """Train the BPE vocabulary of a configuration, or reuse the one its run already has.

    --encode --shard K/N encodes a share of the training text on each of N machines with a shared
    folder; then --encode alone, or nmt train, puts the parts together. --encode --ray does all that
    on the machines of a Ray cluster. The vocabulary comes first. With --store s3://BUCKET/FOLDER,
    as nmt train has it, machines need no shared folder.

    Example: nmt tokenize my.yaml --encode --shard 2/8

    Example: nmt tokenize --set tokenizer.vocab_size=4000 --show "Good morning!"
    """
    from nmt_cli.api.functions import tokenize as train_vocabulary
    from nmt_cli.terminal.lines import Where

    where = Where(shard, ray, ray_workers)
    opt.note_stand_in(config, "tokenize")
    if encode:
        settings = opt.with_data_dir(overrides, data_dir)
        if cluster := where.cluster():
            from nmt_cli.lines import on_ray

            on_ray.encode(config, settings, cluster, store)
        _encode(config, settings, shard, store)
        return
    if where != Where():
        raise ConfigError("--shard and --ray need --encode")
    done = train_vocabulary(
        config, set=overrides, data_dir=data_dir, store=store, on_note=console.note
    )
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


def _encode(config: str | None, settings: list[str], shard: str | None, store: str | None) -> None:
    from nmt_cli.api.encoding import encode

    with console.counting("pairs") as count:
        encode(
            config,
            shard=shard,
            set=settings,
            store=store,
            on_note=console.note,
            on_encoded=lambda split, done: count(f"encoding {split}", done),
        )
