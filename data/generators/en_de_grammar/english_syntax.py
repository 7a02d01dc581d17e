"""English linearization: a tree enters, an English sentence leaves."""

from generators.en_de_grammar import english as en
from generators.en_de_grammar import verbs
from generators.en_de_grammar.categories import Gender, Number, Person
from generators.en_de_grammar.entries import PERSON, Adverb, ModalForm, Name
from generators.en_de_grammar.function_words import NUMERALS
from generators.en_de_grammar.trees import (
    AdjectivePhrase,
    Clause,
    Coordinate,
    Coordination,
    Degree,
    Demonstrative,
    Dependent,
    Determiner,
    FrontedClause,
    Infinitival,
    Interrogative,
    Mood,
    Nominal,
    NounPhrase,
    Occupation,
    Predicate,
    PrepositionalPhrase,
    Pronoun,
    RelativePronoun,
    Role,
    Sentence,
    Subordinate,
    Tense,
    adverbial,
    agreement,
)

Words = list[str]

_FONDNESS = ModalForm(verb=en.LIKE, infix=("to",))
_CONTRACTED_NEGATIONS = {"can not": "cannot"}
_DEGREES = {Degree.PLAIN: [], Degree.VERY: ["very"], Degree.TOO: ["too"], Degree.HOW: ["how"]}


def linearize(sentences: tuple[Sentence, ...]) -> str:
    """Return the English text of one or more sentences."""
    return " ".join(_sentence(sentence) for sentence in sentences)


def _sentence(sentence: Sentence) -> str:
    """Return one sentence with capital and punctuation."""
    dependent = _dependent(sentence.dependent) if sentence.dependent else []
    question = sentence.mood is Mood.QUESTION and sentence.front is not Role.SUBJECT
    if sentence.mood is Mood.COMMAND:
        main = (["please"] if sentence.polite else []) + _command(sentence.clause)
    else:
        main = _clause(sentence.clause, sentence.front, inverted=question)
    words = [*dependent, ",", *main] if sentence.dependent_first else main + dependent
    text = " ".join(words).replace(" ,", ",")
    for full, contracted in _CONTRACTED_NEGATIONS.items():
        text = text.replace(full, contracted)
    return text[0].upper() + text[1:] + sentence.mood.value


def _dependent(dependent: Dependent) -> Words:
    """Return a dependent clause."""
    match dependent:
        case FrontedClause(clause, front):
            return _clause(clause, front)
        case Infinitival(clause):
            return ["to", clause.verb.english.base, *_complements(clause, None)]
        case Subordinate(conjunction, clause):
            return [conjunction.english, *_clause(clause, Role.SUBJECT)]
        case Coordinate(conjunction, clause, elliptical):
            words = _clause(clause, Role.SUBJECT, elliptical=elliptical)
            return [*([","] if conjunction.comma else []), conjunction.english, *words]


def _command(clause: Clause) -> Words:
    """Return an imperative clause."""
    negation = ["do", "not"] if clause.negated else []
    return [*negation, clause.verb.english.base, *_complements(clause, None)]


def _clause(
    clause: Clause, front: Role | None, *, inverted: bool = False, elliptical: bool = False
) -> Words:
    """Return a clause; an elliptical one leaves its fronted subject unsaid."""
    auxiliary, main = _verb_group(clause, support=inverted or clause.negated)
    subject = [] if elliptical else _subject(clause)
    head = [*auxiliary, *subject] if inverted else [*subject, *auxiliary]
    prefield = [] if front in (None, Role.SUBJECT) else _constituent(clause, front)
    negation = ["not"] if clause.negated else []
    medial = _constituent(clause, Role.TIME) if _has_medial_adverb(clause) else []
    return [*prefield, *head, *negation, *medial, *main, *_complements(clause, front)]


def _has_medial_adverb(clause: Clause) -> bool:
    """Tell whether the time adverb stands before the main verb."""
    return isinstance(clause.time, Adverb) and clause.time.medial


def _verb_group(clause: Clause, *, support: bool) -> tuple[Words, Words]:
    """Return the auxiliary, if there is one, and the other verb forms.

    Args:
        clause: the clause.
        support: whether an auxiliary is needed, "do" if there is no other.
    """
    verb = clause.verb.english
    form = _modal_form(clause)
    if form is None:
        return _conjugate(clause, verb, support=support)
    tail = [*form.infix, verb.base]
    if form.verb is None:
        return [form.auxiliary], tail
    auxiliary, head = _conjugate(clause, form.verb, support=support)
    return auxiliary, head + tail


def _modal_form(clause: Clause) -> ModalForm | None:
    """Return how the modal of a clause is said, if it has one."""
    if clause.fond:
        return _FONDNESS
    modal = clause.modal
    if modal is None:
        return None
    if clause.negated and modal.negative:
        return modal.negative
    return modal.past if clause.tense is Tense.PAST else modal.present


def _conjugate(clause: Clause, verb: en.Verb, *, support: bool) -> tuple[Words, Words]:
    """Return the auxiliary and the rest of the forms of the verb that carries the tense."""
    person, number = _agreement(clause)
    match clause.tense:
        case Tense.PROGRESSIVE:
            return [en.present(en.BE, person, number)], [en.gerund(verb)]
        case Tense.PERFECT:
            return [en.present(en.HAVE, person, number)], [en.participle(verb)]
        case Tense.FUTURE:
            return ["will"], [verb.base]
        case tense:
            conjugate = en.past if tense is Tense.PAST else en.present
    if verb == en.BE:
        return [conjugate(verb, person, number)], []
    if support:
        return [conjugate(en.DO, person, number)], [verb.base]
    return [], [conjugate(verb, person, number)]


def _agreement(clause: Clause) -> tuple[Person, Number]:
    """Return the person and number of the finite verb."""
    if clause.verb == verbs.THERE_BE and clause.direct:
        return agreement(clause.direct)
    return agreement(clause.subject)


def _subject(clause: Clause) -> Words:
    """Return the subject, which is "there" in an existential clause."""
    return ["there"] if clause.verb == verbs.THERE_BE else _nominal(clause.subject, subject=True)


def _complements(clause: Clause, front: Role | None) -> Words:
    """Return what follows the main verb, save the fronted constituent."""
    verb = clause.verb.english
    particle = verb.particle.split()
    direct = [] if front is Role.DIRECT else _constituent(clause, Role.DIRECT)
    direct = [*verb.preposition.split(), *direct]
    pronominal = isinstance(clause.direct, Pronoun)
    words = direct + particle if pronominal else particle + direct
    roles = [Role.PREDICATE, Role.OBLIQUE, Role.COMPANION, Role.PLACE]
    if not _has_medial_adverb(clause):
        roles.append(Role.TIME)
    indirect = [] if front is Role.INDIRECT else _constituent(clause, Role.INDIRECT)
    rest = [word for role in roles if role is not front for word in _constituent(clause, role)]
    return indirect + words + rest


def _constituent(clause: Clause, role: Role) -> Words:
    """Return the words of a constituent after the subject, none if the clause lacks it."""
    match role:
        case Role.DIRECT if clause.direct:
            return _nominal(clause.direct)
        case Role.INDIRECT if clause.indirect:
            return _nominal(clause.indirect)
        case Role.PREDICATE if clause.predicate:
            return _predicate(clause.predicate)
        case _:
            return _adverbial_constituent(clause, role)


def _adverbial_constituent(clause: Clause, role: Role) -> Words:
    """Return the words of an adverbial, none if the clause lacks it."""
    match adverbial(clause, role):
        case Adverb(english=phrase):
            return phrase.split()
        case PrepositionalPhrase(preposition, nominal):
            words = ["which"] if isinstance(nominal, RelativePronoun) else _nominal(nominal)
            return [*preposition.english.split(), *words]
        case _:
            return []


def _predicate(predicate: Predicate) -> Words:
    """Return a predicative adjective, profession or noun phrase."""
    match predicate:
        case AdjectivePhrase(adjective, Degree.COMPARATIVE, standard) if standard:
            words = en.comparative(adjective.english).split()
            return [*words, "than", *_nominal(standard, subject=True)]
        case AdjectivePhrase(adjective, Degree.EQUATIVE, standard) if standard:
            words = _nominal(standard, subject=True)
            return ["as", adjective.english.positive, "as", *words]
        case AdjectivePhrase(adjective, degree):
            return [*_DEGREES[degree], adjective.english.positive]
        case Occupation(noun, number):
            word = en.noun_form(noun.english, number)
            return [word] if number is Number.PLURAL else [en.indefinite_article(word), word]
        case NounPhrase():
            return _noun_phrase(predicate)


def _nominal(nominal: Nominal, *, subject: bool = False) -> Words:
    """Return a nominal, in the subject or in the object form."""
    match nominal:
        case Pronoun():
            return [_pronoun_forms(nominal)[0 if subject else 1]]
        case Name(english=name):
            return [name]
        case Demonstrative(number):
            return ["this" if number is Number.SINGULAR else "these"]
        case Interrogative(human):
            return ["who" if human else "what"]
        case RelativePronoun(noun):
            return [_relative_pronoun(human=bool(noun.features & PERSON), subject=subject)]
        case Coordination(first, second):
            return [*_nominal(first, subject=subject), "and", *_nominal(second, subject=subject)]
        case NounPhrase():
            return _noun_phrase(nominal)


def _relative_pronoun(*, human: bool, subject: bool) -> str:
    """Return "who" for people as subjects, otherwise "that"."""
    return "who" if human and subject else "that"


def _pronoun_forms(pronoun: Pronoun) -> tuple[str, str, str]:
    """Return the subject, object and possessive form of a pronoun."""
    gender = pronoun.gender if pronoun.human else Gender.NEUTER
    return en.pronoun_forms(pronoun.person, pronoun.number, gender)


def _noun_phrase(phrase: NounPhrase) -> Words:
    """Return a noun phrase."""
    words = [phrase.adjective.english.positive] if phrase.adjective else []
    words.append(en.noun_form(phrase.noun.english, phrase.number))
    words = _determiner(phrase, words[0]) + words
    if phrase.modifier:
        words += phrase.modifier.preposition.english.split()
        words += _nominal(phrase.modifier.nominal)
    if phrase.relative:
        words += _clause(phrase.relative.clause, phrase.relative.front)
    return words


def _determiner(phrase: NounPhrase, following: str) -> Words:
    """Return a determiner, which may depend on the word that follows it."""
    plural = phrase.number is Number.PLURAL
    match phrase.determiner:
        case Determiner.DEMONSTRATIVE:
            return ["these" if plural else "this"]
        case Determiner.INDEFINITE if plural or not phrase.noun.countable:
            return []
        case Determiner.INDEFINITE:
            return [en.indefinite_article(following)]
        case Determiner() as determiner:
            return str(determiner.value).split()
        case int(count):
            return [NUMERALS[count][0]]
        case Pronoun() as owner:
            return [_pronoun_forms(owner)[2]]
        case owner:
            return en.possessive(" ".join(_nominal(owner))).split()
