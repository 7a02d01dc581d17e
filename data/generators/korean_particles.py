"""Korean particles whose form depends on how the word before them ends.

Text is written with both forms, the one after a consonant first: "{food}을/를 좋아해요".
"""

import re

# The form after a final consonant, and the form after a vowel.
FORMS = {
    "은": "는",
    "이": "가",
    "을": "를",
    "과": "와",
    "으로": "로",
    "이야": "야",
    "이에요": "예요",
    "이요": "요",
    "이죠": "죠",
    "이지": "지",
    "이군요": "군요",
    "이거든": "거든",
    "이랑": "랑",
    "이라고": "라고",
    "이라는": "라는",
    "이라니": "라니",
}

FIRST_SYLLABLE = "가"
FINALS = 28  # syllables are ordered by their final consonant last: none, ㄱ, ㄲ, ...
RIEUL = 8
# The final consonants of the digits as they are read: 영, 일, 이, 삼, 사, 오, 육, 칠, 팔, 구.
DIGIT_FINALS = (21, RIEUL, 0, 16, 0, 0, 1, RIEUL, RIEUL, 0)

_PARTICLE = re.compile(
    "([가-힣0-9])('?)(?:" + "|".join(f"({a})/({b})" for a, b in FORMS.items()) + ")"
)


def choose_particles(text: str) -> str:
    """Return `text` with the right form of each particle that is written in both forms.

    Example:
        >>> choose_particles("밥을/를 먹고 학교으로/로 가요. 3은/는 홀수예요.")
        '밥을 먹고 학교로 가요. 3은 홀수예요.'
    """
    return _PARTICLE.sub(_form, text)


def _form(match: re.Match[str]) -> str:
    before, quote = match[1], match[2]
    after_consonant, after_vowel = (form for form in match.groups()[2:] if form)
    final = final_consonant(before)
    # "로" also follows ㄹ: 서울로.
    bare = final == 0 or (after_vowel == "로" and final == RIEUL)
    return before + quote + (after_vowel if bare else after_consonant)


def final_consonant(letter: str) -> int:
    """Return the number of the final consonant of a syllable or a digit, 0 for none."""
    if letter.isdecimal():
        return DIGIT_FINALS[int(letter)]
    return (ord(letter) - ord(FIRST_SYLLABLE)) % FINALS
