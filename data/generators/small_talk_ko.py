"""Write the Korean small-talk corpus: short chats with 네모, a small bot.

    cd data && python -m generators.small_talk_ko [OUT_DIR]

The text is written by hand in `small_talk_ko_text`; all the rest is `generators.small_talk`.
Users type 반말 and 해요체, the bot answers in 해요체. Every run writes the same bytes.
"""

from pathlib import Path

from generators.small_talk import Sample, main
from generators.small_talk_ko_style import FIRST_TURN, LATER_TURN
from generators.small_talk_rows import DEV, TRAIN

KOREAN = Sample(
    name="small-talk-ko",
    text_dir=Path(__file__).parent / "small_talk_ko_text",
    dialogues={TRAIN: 900, DEV: 80},
    first_turn=FIRST_TURN,
    later_turn=LATER_TURN,
)

if __name__ == "__main__":
    main(KOREAN)
