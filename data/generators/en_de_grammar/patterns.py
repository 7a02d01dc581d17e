"""Random sentences, one function for each pattern."""

from collections.abc import Callable
from dataclasses import replace

from generators.en_de_grammar import adjectives, verbs
from generators.en_de_grammar.actions import (
    action,
    bare_action,
    ditransitive,
    intransitive,
    motion,
    placement,
    prepositional,
    transitive,
    with_object,
)
from generators.en_de_grammar.categories import Number
from generators.en_de_grammar.circumstances import Pair, condition, obstacle, purpose, reason, task
from generators.en_de_grammar.descriptions import description, location
from generators.en_de_grammar.entries import (
    ANIMAL,
    GROWN_UP,
    PERSON,
    PROVISIONS,
    Adjective,
    Adverb,
    Aspect,
    Conjunction,
    Feature,
    Verb,
)
from generators.en_de_grammar.function_words import (
    ALTHOUGH,
    AND,
    BECAUSE,
    BUT,
    HABITUAL_ADVERBS,
    IF,
    NEVER,
    THAT,
    TODAY,
    TOMORROW,
    WHERE,
    WHETHER,
)
from generators.en_de_grammar.nouns import IN
from generators.en_de_grammar.questions import question, to_ask
from generators.en_de_grammar.sampling import PRONOUNS, WE, YOU, I, Sampler, is_referable
from generators.en_de_grammar.tenses import future, ongoing, past, situate
from generators.en_de_grammar.trees import (
    AdjectivePhrase,
    Clause,
    Coordinate,
    Degree,
    Determiner,
    FrontedClause,
    Infinitival,
    Mood,
    Nominal,
    NounPhrase,
    PrepositionalPhrase,
    Pronoun,
    RelativePronoun,
    Role,
    Sentence,
    Subordinate,
    Tense,
    is_counted,
    pronoun_for,
)

Text = tuple[Sentence, ...]
Pattern = Callable[[Sampler], Text]

_COMMANDS: tuple[Verb, ...] = (
    verbs.OPEN,
    verbs.CLOSE,
    verbs.READ,
    verbs.EAT,
    verbs.DRINK,
    verbs.PUT_ON,
    verbs.HELP,
    verbs.CALL,
    verbs.FEED,
    verbs.CLEAN,
    verbs.WASH,
    verbs.BUY,
    verbs.TAKE,
    verbs.THANK,
    verbs.VISIT,
    verbs.COOK,
    verbs.WRITE,
    verbs.REPAIR,
    verbs.PICK_UP,
)
_NO_COMMANDS = (verbs.DREAM, verbs.TRAVEL)
_SEQUELS: tuple[Verb, ...] = (
    verbs.BUY,
    verbs.BUY,
    verbs.SEE,
    verbs.FIND,
    verbs.READ,
    verbs.BAKE,
    verbs.REPAIR,
    verbs.SELL,
    verbs.HAVE,
    verbs.HAVE,
)
_ACQUISITIONS = ANIMAL | Feature.VEHICLE | Feature.DEVICE | Feature.WEARABLE | Feature.READABLE
_OPPOSITIONS: tuple[tuple[Adjective, Adjective], ...] = (
    (adjectives.BEAUTIFUL, adjectives.EXPENSIVE),
    (adjectives.BEAUTIFUL, adjectives.OLD),
    (adjectives.BEAUTIFUL, adjectives.SMALL),
    (adjectives.NEW, adjectives.DIRTY),
    (adjectives.CHEAP, adjectives.OLD),
    (adjectives.CHEAP, adjectives.SMALL),
    (adjectives.GOOD, adjectives.EXPENSIVE),
    (adjectives.CLEAN, adjectives.SMALL),
    (adjectives.GOOD, adjectives.COLD),
)
_CHAINS: tuple[tuple[Verb, Verb, Feature], ...] = (
    (verbs.BUY, verbs.READ, Feature.PRINTED),
    (verbs.BUY, verbs.EAT, Feature.EDIBLE),
    (verbs.BUY, verbs.DRINK, Feature.DRINKABLE),
    (verbs.COOK, verbs.EAT, Feature.COOKABLE),
    (verbs.BAKE, verbs.EAT, Feature.BAKABLE),
    (verbs.WASH, verbs.PUT_ON, Feature.GARMENT),
    (verbs.LOOK_FOR, verbs.FIND, Feature.PORTABLE),
    (verbs.MEET, verbs.INVITE, Feature.ADULT | Feature.KIN),
    (verbs.CALL, verbs.THANK, Feature.KIN),
)
_REGULAR_ADVERBS = tuple(adverb for adverb in HABITUAL_ADVERBS if adverb is not NEVER)


def _statement(sampler: Sampler, clause: Clause) -> Text:
    """Return a statement, which may begin with its adverb of time."""
    frontable = isinstance(clause.time, Adverb) and not clause.time.medial
    front = Role.TIME if frontable and sampler.chance(0.4) else Role.SUBJECT
    return (Sentence(clause, front=front),)


def action_statement(sampler: Sampler) -> Text:
    """Tell what somebody does."""
    return _statement(sampler, action(sampler))


def description_statement(sampler: Sampler) -> Text:
    """Tell how, where or what somebody or something is."""
    return _statement(sampler, description(sampler))


def polar_question(sampler: Sampler) -> Text:
    """Ask for yes or no."""
    if sampler.chance(0.4):
        clause = description(sampler)
    else:
        clause = action(sampler, YOU if sampler.chance(0.4) else None)
    return (Sentence(to_ask(clause), Mood.QUESTION, front=None),)


def content_question(sampler: Sampler) -> Text:
    """Ask for a part of a clause."""
    asked = question(sampler)
    return (Sentence(asked.clause, Mood.QUESTION, asked.front),)


def indirect_question(sampler: Sampler) -> Text:
    """Tell or ask whether somebody knows the answer to a question."""
    matrix, mood, front = _knowledge(sampler)
    if sampler.chance(0.3):
        clause = sampler.choice((action, description))(sampler)
        dependent: Subordinate | FrontedClause = Subordinate(WHETHER, to_ask(clause))
    else:
        dependent = question(sampler)
    return (Sentence(matrix, mood, front, dependent),)


def _knowledge(sampler: Sampler) -> tuple[Clause, Mood, Role | None]:
    """Return a clause about somebody who knows something, or a question about that."""
    if sampler.chance(0.4):
        subject = YOU if sampler.chance(0.6) else sampler.person(GROWN_UP)
        return Clause(subject, verbs.KNOW_FACT), Mood.QUESTION, None
    subject = sampler.choice((I, WE)) if sampler.chance(0.5) else sampler.subject(GROWN_UP)
    return (
        Clause(subject, verbs.KNOW_FACT, negated=sampler.chance(0.75)),
        Mood.STATEMENT,
        Role.SUBJECT,
    )


def reported_statement(sampler: Sampler) -> Text:
    """Tell what somebody says, thinks, hopes or knows."""
    subject = sampler.subject(GROWN_UP)
    verb = sampler.choice((verbs.SAY, verbs.SAY, verbs.THINK, verbs.HOPE, verbs.KNOW_FACT))
    tense = Tense.PAST if verb is verbs.SAY and sampler.chance(0.5) else Tense.PRESENT
    if verb is verbs.HOPE:
        content = future(sampler, bare_action(sampler, (transitive, motion, ditransitive)))
    else:
        content = sampler.choice((action, description))(sampler)
    return (Sentence(Clause(subject, verb, tense), dependent=Subordinate(THAT, content)),)


def command(sampler: Sampler) -> Text:
    """Tell somebody to do something, or not to do it."""
    if sampler.chance(0.25):
        clause = sampler.choice((ditransitive, placement, motion, prepositional))(sampler, YOU)
        if clause.verb in _NO_COMMANDS:
            return command(sampler)
    elif sampler.chance(0.1):
        clause = Clause(YOU, verbs.FORGET, negated=True)
        clause = replace(clause, direct=with_object(sampler, verbs.FORGET, YOU).direct)
        return (Sentence(clause, Mood.COMMAND),)
    else:
        clause = replace(with_object(sampler, sampler.choice(_COMMANDS), YOU), place=None)
    time = sampler.choice((TODAY, TOMORROW)) if sampler.chance(0.15) else None
    negated = not is_counted(clause.direct) and sampler.chance(0.2)
    clause = replace(clause, negated=negated, time=time)
    return (Sentence(clause, Mood.COMMAND, polite=sampler.chance(0.4)),)


def _subordination(pair: Pair, conjunction: Conjunction) -> Text:
    """Return a main clause and an adverbial clause."""
    dependent = Subordinate(conjunction, pair.dependent)
    return (Sentence(pair.main, dependent=dependent, dependent_first=pair.dependent_first),)


def causal_sentence(sampler: Sampler) -> Text:
    """Tell why."""
    return _subordination(reason(sampler), BECAUSE)


def conditional_sentence(sampler: Sampler) -> Text:
    """Tell under which condition."""
    return _subordination(condition(sampler), IF)


def concessive_sentence(sampler: Sampler) -> Text:
    """Tell in spite of what."""
    return _subordination(obstacle(sampler), ALTHOUGH)


def purpose_sentence(sampler: Sampler) -> Text:
    """Tell what for."""
    pair = purpose(sampler)
    return (Sentence(pair.main, dependent=Infinitival(pair.dependent, purpose=True)),)


def task_sentence(sampler: Sampler) -> Text:
    """Tell what somebody tries or forgets to do."""
    pair = task(sampler)
    if pair.main.verb is verbs.FORGET and sampler.chance(0.3):
        content = replace(pair.dependent, subject=YOU)
        clause = Clause(YOU, verbs.FORGET, negated=True)
        return (Sentence(clause, Mood.COMMAND, dependent=Infinitival(content)),)
    front = Role.TIME if pair.main.time else Role.SUBJECT
    return (Sentence(pair.main, front=front, dependent=Infinitival(pair.dependent)),)


def relative_subject(sampler: Sampler) -> Text:
    """Describe a person by what he or she does."""
    person = sampler.phrase(Feature.ADULT | Feature.PROFESSION, plural=0.25, described=0)
    person = replace(person, determiner=Determiner.DEFINITE)
    clause = _dwelling_in(sampler, person) if sampler.chance(0.2) else action_of(sampler, person)
    relative = FrontedClause(
        replace(clause, subject=RelativePronoun(person.noun, person.number)), Role.SUBJECT
    )
    return _about_person(sampler, replace(person, relative=relative))


def _dwelling_in(sampler: Sampler, subject: Nominal) -> Clause:
    """Return a clause about a place where somebody lives."""
    return Clause(subject, verbs.LIVE, place=sampler.place(verbs.LIVE.places))


def action_of(sampler: Sampler, subject: Nominal) -> Clause:
    """Return a clause about what somebody does."""
    maker = sampler.choice((transitive, transitive, intransitive, motion, prepositional))
    clause = maker(sampler, subject)
    if clause.verb.aspect is Aspect.ACTION and sampler.chance(0.5):
        return replace(ongoing(sampler, clause), time=None)
    return situate(sampler, clause)


def _about_person(sampler: Sampler, person: NounPhrase) -> Text:
    """Return a sentence about a person who is described at length."""
    if sampler.chance(0.5):
        predicate = sampler.adjective_phrase(person.noun.features)
        return (Sentence(Clause(person, verbs.BE, predicate=predicate)),)
    if sampler.chance(0.4):
        return (Sentence(Clause(YOU, verbs.KNOW, direct=person), Mood.QUESTION, front=None),)
    subject = sampler.choice(PRONOUNS)
    return (Sentence(Clause(subject, verbs.KNOW, direct=person, negated=sampler.chance(0.3))),)


def relative_object(sampler: Sampler) -> Text:
    """Describe a thing or a person by what somebody does with it."""
    clause = situate(sampler, transitive(sampler))
    while not isinstance(clause.direct, NounPhrase) or not _identifies_object(clause):
        clause = situate(sampler, transitive(sampler))
    noun, number = clause.direct.noun, clause.direct.number
    pronoun = RelativePronoun(noun, number)
    relative = FrontedClause(replace(clause, direct=pronoun), Role.DIRECT)
    phrase = NounPhrase(noun, Determiner.DEFINITE, number, relative=relative)
    predicate = sampler.adjective_phrase(noun.features)
    gone = clause.tense is Tense.PAST and clause.verb in (verbs.EAT, verbs.DRINK, verbs.SELL)
    tense = Tense.PAST if gone else Tense.PRESENT
    return (Sentence(Clause(phrase, verbs.BE, tense, predicate=predicate)),)


def _identifies_object(clause: Clause) -> bool:
    """Tell whether a clause is fit to tell which thing or person is meant."""
    done = clause.tense in (Tense.PAST, Tense.PERFECT)
    if clause.verb is verbs.PUT_ON or (clause.verb in verbs.CREATION_VERBS and not done):
        return False
    kin = isinstance(clause.direct, NounPhrase) and Feature.KIN in clause.direct.noun.features
    return not kin and not clause.negated and not clause.fond


def relative_place(sampler: Sampler) -> Text:
    """Describe a place by what happens there."""
    verb = sampler.choice((verbs.LIVE, verbs.WORK, verbs.SIT, verbs.SLEEP))
    noun = sampler.noun(verb.places & ~Feature.SETTLEMENT)
    subject = sampler.subject(verb.subjects & PERSON)
    relative_pronoun = RelativePronoun(noun, Number.SINGULAR)
    place = PrepositionalPhrase(noun.locative or IN, relative_pronoun)
    tense = Tense.PRESENT if verb in (verbs.LIVE, verbs.WORK, verbs.SLEEP) else Tense.PROGRESSIVE
    relative = FrontedClause(Clause(subject, verb, tense, place=place), Role.PLACE)
    phrase = NounPhrase(noun, relative=relative)
    predicate = sampler.adjective_phrase(noun.features)
    return (Sentence(Clause(phrase, verbs.BE, predicate=predicate)),)


def chain(sampler: Sampler) -> Text:
    """Tell two things that somebody does with the same thing."""
    first, second, features = sampler.choice(_CHAINS)
    subject = sampler.subject(first.subjects & second.subjects & PERSON)
    phrase = sampler.phrase(features, subject, definite=True, plural=0.3)
    if first is verbs.BUY or features & PROVISIONS:
        phrase = replace(phrase, determiner=Determiner.INDEFINITE)
    time = sampler.choice(_REGULAR_ADVERBS)
    clause = Clause(subject, first, time=time, direct=phrase)
    sequel = Clause(subject, second, direct=pronoun_for(phrase))
    frontable = not time.medial and sampler.chance(0.5)
    front = Role.TIME if frontable else Role.SUBJECT
    return (Sentence(clause, front=front, dependent=Coordinate(AND, sequel, elliptical=True)),)


def contrast(sampler: Sampler) -> Text:
    """Tell two qualities, of which one speaks for a thing and the other against it."""
    merit, flaw = sampler.choice(_OPPOSITIONS)
    features = merit.features & flaw.features
    subject = sampler.phrase(features, definite=True, described=0.1)
    good = AdjectivePhrase(merit, sampler.choice((Degree.PLAIN, Degree.VERY)))
    bad = AdjectivePhrase(flaw, sampler.choice((Degree.TOO, Degree.VERY)))
    first, second = (good, bad) if sampler.chance(0.6) else (bad, good)
    clause = Clause(subject, verbs.BE, predicate=first)
    opposite = Clause(pronoun_for(subject), verbs.BE, predicate=second)
    return (Sentence(clause, dependent=Coordinate(BUT, opposite)),)


def sequel(sampler: Sampler) -> Text:
    """Tell what somebody has or got, and then what it is like."""
    verb = sampler.choice(_SEQUELS)
    subject = sampler.subject(verb.subjects & PERSON)
    features = verb.objects & ~PERSON or _ACQUISITIONS
    phrase = sampler.phrase(features, plural=0, described=0)
    phrase = replace(phrase, determiner=Determiner.INDEFINITE)
    clause = Clause(subject, verb, direct=phrase)
    predicate = sampler.adjective_phrase(phrase.noun.features, transient=False)
    quality_of = Clause(pronoun_for(phrase), verbs.BE, predicate=predicate)
    if verb is verbs.HAVE:
        return (Sentence(clause), Sentence(quality_of))
    clause = replace(past(sampler, clause), negated=False)
    return (*_statement(sampler, clause), Sentence(replace(quality_of, tense=Tense.PAST)))


def inquiry(sampler: Sampler) -> Text:
    """Ask where somebody or something is, and answer."""
    clause = location(sampler)
    while isinstance(clause.subject, Pronoun) or not is_referable(clause.subject):
        clause = location(sampler)
    clause = to_ask(clause)
    clause = replace(clause, time=None)
    question = Sentence(replace(clause, place=WHERE), Mood.QUESTION, Role.PLACE)
    return question, Sentence(replace(clause, subject=pronoun_for(clause.subject)))


def parallel(sampler: Sampler) -> Text:
    """Tell what two people do at the same time."""
    makers = (transitive, intransitive, motion, prepositional)
    first, second = (
        replace(
            bare_action(sampler, makers, sampler.person(GROWN_UP), lasting=True),
            tense=Tense.PROGRESSIVE,
        )
        for _ in range(2)
    )
    return (Sentence(first, dependent=Coordinate(AND, second)),)


PATTERNS: tuple[tuple[Pattern, int], ...] = (
    (action_statement, 32),
    (description_statement, 18),
    (polar_question, 8),
    (content_question, 10),
    (indirect_question, 4),
    (reported_statement, 5),
    (command, 5),
    (causal_sentence, 6),
    (conditional_sentence, 4),
    (concessive_sentence, 3),
    (purpose_sentence, 3),
    (task_sentence, 3),
    (relative_subject, 4),
    (relative_object, 4),
    (relative_place, 2),
    (chain, 3),
    (contrast, 2),
    (sequel, 3),
    (inquiry, 3),
    (parallel, 2),
)


def text(sampler: Sampler) -> Text:
    """Return one or two sentences of a random pattern."""
    return sampler.weighted(PATTERNS)(sampler)
