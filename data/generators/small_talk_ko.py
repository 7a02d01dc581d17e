"""Write the Korean small-talk corpus: short chats with 네모, a small bot.

    cd data && python -m generators.small_talk_ko [OUT_DIR]

The text is written by hand in `small_talk_ko_text`; all the rest is `generators.small_talk`.
Users type 반말 and 해요체, the bot answers in 해요체. Every run writes the same bytes.
"""

from pathlib import Path

from generators.small_talk import Sample, main
from generators.small_talk_ko_style import first_turn, later_turn
from generators.small_talk_rows import DEV, TRAIN, Wording, first_phrasings

KOREAN = Sample(
    name="small-talk-ko",
    text_dir=Path(__file__).parent / "small_talk_ko_text",
    wording=Wording(first_phrasings, first_turn, later_turn, max_exchanges=5),
    rows_per_intent=40,
    dialogues={TRAIN: 900, DEV: 80},
)

if __name__ == "__main__":
    main(KOREAN)
