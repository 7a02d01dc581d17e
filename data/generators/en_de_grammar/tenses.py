"""Tenses, modals and adverbs of time for clauses that have none yet."""

from collections.abc import Callable
from dataclasses import replace

from generators.en_de_grammar import verbs
from generators.en_de_grammar.categories import Number
from generators.en_de_grammar.entries import ANIMAL, PERSON, Aspect, Feature
from generators.en_de_grammar.function_words import (
    ALREADY,
    CAN,
    HABITUAL_ADVERBS,
    MUST,
    NEXT_WEEK,
    NOW,
    PAST_PERIODS,
    SEASONS,
    SHOULD,
    TODAY,
    TOMORROW,
    WANT,
    WOULD_LIKE,
    YESTERDAY,
)
from generators.en_de_grammar.sampling import Sampler
from generators.en_de_grammar.trees import Clause, Determiner, NounPhrase, Tense, is_counted

Setting = Callable[[Sampler, Clause], Clause]

_DURABLE = (
    Feature.FURNITURE | Feature.DEVICE | Feature.VEHICLE | Feature.TABLEWARE | Feature.WEARABLE
)


def _negated(sampler: Sampler, clause: Clause, probability: float) -> bool:
    """Tell whether to negate a clause, which a counted object does not allow."""
    return not is_counted(clause.direct) and sampler.chance(probability)


def ongoing(sampler: Sampler, clause: Clause) -> Clause:
    """Set a clause in the present."""
    state = clause.verb.aspect is Aspect.STATE
    time = None if state else sampler.choice((None, None, NOW, TODAY))
    tense = Tense.PRESENT if state else Tense.PROGRESSIVE
    negated = _negated(sampler, clause, 0.15)
    return replace(clause, tense=tense, time=time, negated=negated)


def habitual(sampler: Sampler, clause: Clause) -> Clause:
    """Set a clause in the present as something that happens again and again."""
    options = list(HABITUAL_ADVERBS)
    options += SEASONS * 2 if clause.place or clause.oblique else []
    return replace(clause, tense=Tense.PRESENT, time=sampler.choice(options))


def past(sampler: Sampler, clause: Clause) -> Clause:
    """Set a clause in the past."""
    options = [YESTERDAY, YESTERDAY, sampler.weekday()]
    options += PAST_PERIODS if clause.verb.notable else []
    negated = _negated(sampler, clause, 0.12)
    return replace(clause, tense=Tense.PAST, time=sampler.choice(options), negated=negated)


def perfect(_: Sampler, clause: Clause) -> Clause:
    """Set a clause in the past as something that is done by now."""
    return replace(clause, tense=Tense.PERFECT, time=ALREADY)


def future(sampler: Sampler, clause: Clause) -> Clause:
    """Set a clause in the future."""
    options = [TOMORROW, TOMORROW, sampler.weekday()]
    options += [NEXT_WEEK] if clause.verb.notable else []
    negated = _negated(sampler, clause, 0.1)
    return replace(clause, tense=Tense.FUTURE, time=sampler.choice(options), negated=negated)


def modal(sampler: Sampler, clause: Clause) -> Clause:
    """Say that somebody can, must, wants to, should or would like to do something."""
    chosen = sampler.choice((CAN, MUST, WANT, SHOULD, WOULD_LIKE))
    time = sampler.choice((None, None, TODAY, TOMORROW, sampler.weekday()))
    negated = chosen is not WOULD_LIKE and _negated(sampler, clause, 0.25)
    return replace(clause, modal=chosen, time=time, negated=negated)


def past_modal(sampler: Sampler, clause: Clause) -> Clause:
    """Say that somebody had to or wanted to do something, or could not do it."""
    chosen = sampler.choice((MUST, WANT, CAN))
    if chosen is CAN and is_counted(clause.direct):
        chosen = MUST
    time = sampler.choice((YESTERDAY, sampler.weekday()))
    return replace(clause, modal=chosen, tense=Tense.PAST, time=time, negated=chosen is CAN)


def fond(sampler: Sampler, clause: Clause) -> Clause:
    """Say that somebody likes to do something."""
    return replace(clause, fond=True, negated=sampler.chance(0.2))


def situate(sampler: Sampler, clause: Clause) -> Clause:
    """Set a clause in a tense that suits its verb and its object."""
    verb = clause.verb
    settings: list[Setting] = []
    if verb.aspect is Aspect.STATE:
        return ongoing(sampler, clause)
    if _is_repeatable(clause):
        settings += [habitual] * 4
    if verb.aspect is Aspect.EVENT:
        return sampler.choice([*settings, past, past, past])(sampler, clause)
    if clause.direct and verb not in (verbs.WEAR, verbs.LOOK_FOR, verbs.TAKE):
        settings.append(perfect)
    if _is_generic(clause) and verb not in (verbs.SLEEP, verbs.LOOK_FOR):
        settings.append(fond)
    settings += [ongoing, ongoing, past, past, past, future, future, modal, modal, past_modal]
    return sampler.choice(settings)(sampler, clause)


def _is_repeatable(clause: Clause) -> bool:
    """Tell whether one can do the same again and again."""
    if not isinstance(clause.direct, NounPhrase):
        return True
    if clause.verb in (verbs.BUY, verbs.SELL) and clause.direct.noun.features & _DURABLE:
        return False
    return clause.direct.indefinite or _is_generic(clause)


def _is_generic(clause: Clause) -> bool:
    """Tell whether a clause is about a kind of object, or about one that lasts."""
    lasting = PERSON | ANIMAL | Feature.TRANSIT | Feature.CLEANABLE | Feature.ROOM
    match clause.direct:
        case NounPhrase(noun=noun, determiner=Determiner.INDEFINITE, number=number):
            return number is Number.PLURAL or not noun.countable
        case NounPhrase(noun=noun, determiner=determiner):
            return bool(noun.features & lasting) and not isinstance(determiner, int)
        case _:
            return True
