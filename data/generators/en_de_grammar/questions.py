"""Random clauses that ask for one of their parts."""

from collections.abc import Callable
from dataclasses import replace

from generators.en_de_grammar import adjectives, verbs
from generators.en_de_grammar.actions import (
    bare_action,
    ditransitive,
    intransitive,
    motion,
    placement,
    prepositional,
    transitive,
)
from generators.en_de_grammar.categories import Number, Person
from generators.en_de_grammar.descriptions import location, quality, timetable
from generators.en_de_grammar.entries import PERSON, Aspect, Feature
from generators.en_de_grammar.function_words import WHEN, WHERE, WHITHER, WHY
from generators.en_de_grammar.sampling import YOU, Sampler
from generators.en_de_grammar.tenses import future, ongoing, past, situate
from generators.en_de_grammar.trees import (
    AdjectivePhrase,
    Clause,
    Degree,
    Determiner,
    FrontedClause,
    Interrogative,
    Nominal,
    NounPhrase,
    Role,
    agreement,
    pronoun_for,
)

_MEASURES = (
    adjectives.OLD,
    adjectives.BIG,
    adjectives.TALL,
    adjectives.LONG,
    adjectives.HEAVY,
    adjectives.EXPENSIVE,
)


def to_ask(clause: Clause) -> Clause:
    """Return a clause that one can ask about: affirmative and not about the speaker."""
    person, _ = agreement(clause.subject)
    subject = YOU if person is Person.FIRST else clause.subject
    return replace(clause, subject=subject, negated=False)


def _subject_question(sampler: Sampler) -> FrontedClause:
    """Ask who does something."""
    clause = situate(sampler, sampler.choice((transitive, motion, ditransitive))(sampler))
    return FrontedClause(
        replace(clause, subject=Interrogative(human=True), negated=False), Role.SUBJECT
    )


def _object_question(sampler: Sampler) -> FrontedClause:
    """Ask what or whom somebody deals with."""
    clause = to_ask(situate(sampler, transitive(sampler)))
    while clause.verb is verbs.PUT_ON:
        clause = to_ask(situate(sampler, transitive(sampler)))
    human = pronoun_for(clause.direct).human if clause.direct else True
    direct: Nominal = Interrogative(human=human)
    if isinstance(clause.direct, NounPhrase) and clause.direct.noun.countable and not human:
        plural = clause.direct.number is Number.PLURAL
        which = replace(clause.direct, determiner=Determiner.WHICH, modifier=None)
        how_many = replace(which, determiner=Determiner.HOW_MANY)
        direct = sampler.choice((direct, direct, which, how_many if plural else which))
    return FrontedClause(replace(clause, direct=direct), Role.DIRECT)


def _place_question(sampler: Sampler) -> FrontedClause:
    """Ask where somebody or something is, or where somebody goes."""
    makers = ((location, 3), (intransitive, 2), (motion, 3), (_dwelling, 1))
    clause = to_ask(sampler.weighted(makers)(sampler))
    while clause.verb is verbs.LAUGH:
        clause = to_ask(intransitive(sampler))
    if clause.verb.aspect is Aspect.ACTION:
        clause = replace(ongoing(sampler, clause), negated=False)
    if clause.oblique:
        return FrontedClause(replace(clause, oblique=WHITHER), Role.OBLIQUE)
    return FrontedClause(replace(clause, place=WHERE), Role.PLACE)


def _dwelling(sampler: Sampler) -> Clause:
    """Return a clause about somebody who lives somewhere."""
    return Clause(sampler.subject(), verbs.LIVE)


def _time_question(sampler: Sampler) -> FrontedClause:
    """Ask when something happens."""
    if sampler.chance(0.5):
        clause = timetable(sampler)
    else:
        bare = bare_action(sampler, (transitive, motion, ditransitive))
        clause = sampler.choice((past, future))(sampler, bare)
    return FrontedClause(replace(to_ask(clause), time=WHEN), Role.TIME)


def _reason_question(sampler: Sampler) -> FrontedClause:
    """Ask why."""
    clause = sampler.choice((quality, _ongoing_action, _past_action))(sampler)
    return FrontedClause(replace(to_ask(clause), cause=WHY), Role.CAUSE)


def _ongoing_action(sampler: Sampler) -> Clause:
    """Return a clause about what somebody does now."""
    makers = (transitive, intransitive, motion, prepositional, placement)
    return ongoing(sampler, bare_action(sampler, makers, lasting=True))


def _past_action(sampler: Sampler) -> Clause:
    """Return a clause about what somebody did."""
    return past(sampler, bare_action(sampler, (transitive, motion, ditransitive)))


def _degree_question(sampler: Sampler) -> FrontedClause:
    """Ask how old, how big or how expensive somebody or something is."""
    adjective = sampler.choice(_MEASURES)
    features = adjective.features | (PERSON if adjective is adjectives.OLD else Feature.NONE)
    subject = sampler.phrase(features, definite=True, described=0.1)
    predicate = AdjectivePhrase(adjective, Degree.HOW)
    return FrontedClause(Clause(subject, verbs.BE, predicate=predicate), Role.PREDICATE)


_QUESTIONS: tuple[tuple[Callable[[Sampler], FrontedClause], int], ...] = (
    (_subject_question, 3),
    (_object_question, 4),
    (_place_question, 4),
    (_time_question, 3),
    (_reason_question, 3),
    (_degree_question, 2),
)


def question(sampler: Sampler) -> FrontedClause:
    """Return a clause that opens with an interrogative."""
    return sampler.weighted(_QUESTIONS)(sampler)
