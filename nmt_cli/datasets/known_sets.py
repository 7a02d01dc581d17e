"""Public data sets that `nmt data get` knows: where they are, what they are, who to cite.

Only what is certain is here: the addresses and the layout of the files have been in public use for
years. A hash is given where the bytes behind an address are fixed and were seen.
"""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class RemoteFile:
    """One file of a set."""

    # Its path below the set's address. A mirror may hold it at the end of that path alone.
    path: str
    name: str  # its name here
    sha256: str | None = None  # of its bytes; None where the publisher may put other bytes there
    # For a zip archive: members to unpack, and their names here. The archive itself does not stay.
    members: dict[str, str] = field(default_factory=dict)

    @property
    def results(self) -> tuple[str, ...]:
        """The names that it leaves in the set's folder."""
        return tuple(self.members.values()) or (self.name,)


@dataclass(frozen=True)
class DataSet:
    """One public set."""

    name: str  # what `nmt data get` calls it; a bundled configuration of that name trains on it
    about: str  # what kind of text it is, in a few words
    task: str  # "translation" or "chat"
    languages: tuple[str, str]  # source and target
    pairs: int | None  # training pairs; None where the publisher's next version may have more
    megabytes: float  # about what is downloaded
    licence: str  # under what terms, in the publisher's words as far as they are short
    citation: str  # whom to cite
    homepage: str  # where a person reads more
    address: str  # what the paths of the files are below
    files: tuple[RemoteFile, ...]  # its files

    @property
    def folder(self) -> Path:
        """Where its files go, and where the bundled configurations look for them."""
        return Path("data") / self.name

    @property
    def results(self) -> frozenset[str]:
        """The names of all files in its folder, once it is there."""
        return frozenset(name for file in self.files for name in file.results)


def data_set_with(folder: Path, names: set[str]) -> DataSet | None:
    """Return the set that brings these files into a folder of this name, if one does."""
    found = DATA_SETS.get(folder.name)
    return found if found and names and names <= found.results else None


_MULTI30K_SHA256 = {  # at the commit in the address
    "train.en.gz": "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
    "train.de.gz": "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
    "val.en.gz": "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
    "val.de.gz": "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
    "test_2016_flickr.en.gz": "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
    "test_2016_flickr.de.gz": "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
}


def _multi30k(target: str, citation: str) -> DataSet:
    names = [
        f"{split}.{language}.gz"
        for split in ("train", "val", "test_2016_flickr")
        for language in ("en", target)
    ]
    return DataSet(
        name=f"multi30k-en-{target}",
        about="image captions, task 1, raw",
        task="translation",
        languages=("en", target),
        pairs=29_000,
        megabytes=1.3,
        licence="for non-commercial research and education (derived from Flickr30K, whose terms "
        "apply)",
        citation=citation,
        homepage="https://github.com/multi30k/dataset",
        address="https://raw.githubusercontent.com/multi30k/dataset/"
        "a3d2e0d26b56f3846f66a952536ffed4e401d05a",
        files=tuple(
            RemoteFile(f"data/task1/raw/{name}", name, _MULTI30K_SHA256.get(name)) for name in names
        ),
    )


def _tatoeba(other: str, megabytes: float) -> DataSet:
    """Return an English pair of OPUS' Tatoeba, whose archives name languages by the alphabet."""
    pair = "-".join(sorted(("en", other)))
    members = {f"Tatoeba.{pair}.{language}": f"train.{language}" for language in ("en", other)}
    return DataSet(
        name=f"tatoeba-en-{other}",
        about="short everyday sentences (Tatoeba, by way of OPUS)",
        task="translation",
        languages=("en", other),
        pairs=None,
        megabytes=megabytes,
        licence="CC BY 2.0 FR",
        citation="Tiedemann 2012, Parallel Data, Tools and Interfaces in OPUS, LREC; tatoeba.org",
        homepage="https://opus.nlpl.eu/Tatoeba",
        address="https://object.pouta.csc.fi/OPUS-Tatoeba/v2023-04-12",
        files=(RemoteFile(f"moses/{pair}.txt.zip", f"{pair}.txt.zip", members=members),),
    )


def _stanford(splits: dict[str, str], languages: tuple[str, str]) -> tuple[RemoteFile, ...]:
    return tuple(
        RemoteFile(f"{there}.{language}", f"{here}.{language}")
        for there, here in splits.items()
        for language in languages
    )


_ALL = (
    _multi30k(
        "de", "Elliott et al. 2016, Multi30K: Multilingual English-German Image Descriptions"
    ),
    _multi30k(
        "fr",
        "Elliott et al. 2017, Findings of the Second Shared Task on Multimodal Machine Translation "
        "and Multilingual Image Description",
    ),
    DataSet(
        name="chat-ko",
        about="Korean questions and answers",
        task="chat",
        languages=("ko", "ko"),
        pairs=11_823,
        megabytes=0.9,
        licence="MIT",
        citation="Song Youngsook, Chatbot_data, github.com/songys/Chatbot_data",
        homepage="https://github.com/songys/Chatbot_data",
        address="https://raw.githubusercontent.com/songys/Chatbot_data/"
        "4cf20d13fc46f5037fd1c531cd566e2dd9f72974",
        files=(
            RemoteFile(
                "ChatbotData.csv",
                "ChatbotData.csv",
                "287eb129695b577321c80ad397bb3c2279164d4ca577874d129fd3db5b30afe2",
            ),
        ),
    ),
    _tatoeba("ko", 0.5),
    _tatoeba("de", 12),
    DataSet(
        name="iwslt15-en-vi",
        about="TED talks (IWSLT 2015), tokenised",
        task="translation",
        languages=("en", "vi"),
        pairs=133_317,
        megabytes=32,
        licence="CC BY-NC-ND (TED); for research",
        citation="Cettolo et al. 2015, The IWSLT 2015 Evaluation Campaign; prepared by Luong and "
        "Manning 2015",
        homepage="https://nlp.stanford.edu/projects/nmt/",
        address="https://nlp.stanford.edu/projects/nmt/data/iwslt15.en-vi",
        files=_stanford({"train": "train", "tst2012": "dev", "tst2013": "test"}, ("en", "vi")),
    ),
    DataSet(
        name="wmt14-en-de",
        about="news, parliament and web (WMT 2014), tokenised",
        task="translation",
        languages=("en", "de"),
        pairs=4_468_840,
        megabytes=1_300,
        licence="free for research (statmt.org/wmt14); Europarl, Common Crawl and News Commentary",
        citation="Bojar et al. 2014, Findings of the 2014 Workshop on Statistical Machine "
        "Translation; prepared by Luong et al. 2015",
        homepage="https://nlp.stanford.edu/projects/nmt/",
        address="https://nlp.stanford.edu/projects/nmt/data/wmt14.en-de",
        files=_stanford(
            {"train": "train", "newstest2013": "dev", "newstest2014": "test"}, ("en", "de")
        ),
    ),
    DataSet(
        name="news-commentary-de-en",
        about="political and economic commentary (WMT 2021, version 16), raw",
        task="translation",
        languages=("de", "en"),
        pairs=398_981,
        megabytes=45,
        licence="free for research (data.statmt.org/news-commentary); Project Syndicate",
        citation="Tiedemann 2012, Parallel Data, Tools and Interfaces in OPUS, LREC; Akhbardeh et "
        "al. 2021, Findings of the 2021 Conference on Machine Translation",
        homepage="https://data.statmt.org/news-commentary/",
        address="https://data.statmt.org/news-commentary/v16",
        files=(RemoteFile("training/news-commentary-v16.de-en.tsv.gz", "train.tsv.gz"),),
    ),
)
DATA_SETS: dict[str, DataSet] = {data_set.name: data_set for data_set in _ALL}
