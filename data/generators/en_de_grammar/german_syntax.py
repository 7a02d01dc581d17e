"""German linearization: a tree enters, a German sentence leaves.

A clause has topological fields: the prefield with one constituent, the left
bracket with the finite verb or a conjunction, the middle field, the right bracket
with the other verb forms, and the postfield with clauses.
"""

from dataclasses import replace
from enum import Enum

from generators.en_de_grammar import german as de
from generators.en_de_grammar.categories import Case, Gender, Number
from generators.en_de_grammar.entries import Adverb, Name
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

_CONTRACTIONS = {
    ("in", "dem"): "im",
    ("in", "das"): "ins",
    ("an", "dem"): "am",
    ("an", "das"): "ans",
    ("zu", "dem"): "zum",
    ("zu", "der"): "zur",
    ("von", "dem"): "vom",
}
_WHO = {Case.NOMINATIVE: "wer", Case.ACCUSATIVE: "wen", Case.DATIVE: "wem"}
_DEGREES = {
    Degree.PLAIN: [],
    Degree.VERY: ["sehr"],
    Degree.TOO: ["zu"],
    Degree.HOW: ["wie"],
    Degree.EQUATIVE: ["so"],
}
_COMPARISONS = {Degree.COMPARATIVE: "als", Degree.EQUATIVE: "wie"}


class VerbPosition(Enum):
    """Where the finite verb stands; an infinitive clause has none."""

    FIRST = 1
    SECOND = 2
    FINAL = 3
    INFINITIVE = 4


def linearize(sentences: tuple[Sentence, ...]) -> str:
    """Return the German text of one or more sentences."""
    return " ".join(_sentence(sentence) for sentence in sentences)


def _sentence(sentence: Sentence) -> str:
    """Return one sentence with capital and punctuation."""
    dependent = _dependent(sentence.dependent) if sentence.dependent else []
    if sentence.mood is Mood.COMMAND:
        main = (["bitte"] if sentence.polite else []) + _command(sentence.clause)
    elif sentence.dependent_first or sentence.front is None:
        main = _clause(sentence.clause, None, VerbPosition.FIRST)
    else:
        main = _clause(sentence.clause, sentence.front, VerbPosition.SECOND)
    words = [*dependent, ",", *main] if sentence.dependent_first else main + dependent
    text = " ".join(words).removeprefix(", ").replace(" , ,", " ,").removesuffix(" ,")
    text = text.replace(" ,", ",")
    return text[0].upper() + text[1:] + sentence.mood.value


def _dependent(dependent: Dependent) -> Words:
    """Return a dependent clause with the comma before it."""
    match dependent:
        case FrontedClause():
            return [",", *_fronted_clause(dependent)]
        case Subordinate(conjunction, clause):
            return [",", conjunction.german, *_clause(clause, None, VerbPosition.FINAL)]
        case Infinitival(clause, purpose):
            words = _clause(clause, None, VerbPosition.INFINITIVE)
            return [",", *(["um"] if purpose else []), *words]
        case Coordinate(conjunction, clause, elliptical):
            words = _clause(clause, Role.SUBJECT, VerbPosition.SECOND, elliptical=elliptical)
            return [*([","] if conjunction.comma else []), conjunction.german, *words]


def _fronted_clause(fronted: FrontedClause) -> Words:
    """Return a relative clause or an indirect question."""
    return _clause(fronted.clause, fronted.front, VerbPosition.FINAL)


def _command(clause: Clause) -> Words:
    """Return an imperative clause."""
    verb = clause.verb.german
    fields = _middle_field(clause, Role.SUBJECT)
    return [de.imperative(verb), *fields, *([verb.prefix] if verb.prefix else [])]


def _clause(
    clause: Clause, front: Role | None, position: VerbPosition, *, elliptical: bool = False
) -> Words:
    """Return a clause; an elliptical one leaves its fronted subject unsaid."""
    prefield = [] if front is None or elliptical else _constituent(clause, front)
    if position is VerbPosition.INFINITIVE:
        middle = _middle_field(clause, Role.SUBJECT)
        return [*middle, de.zu_infinitive(clause.verb.german), *_postfield(clause)]
    finite, nonfinite = _verb_forms(clause)
    prefix = "" if nonfinite else clause.verb.german.prefix
    middle = _middle_field(clause, front)
    if position is VerbPosition.FINAL:
        words = [*prefield, *middle, *nonfinite, prefix + finite]
    else:
        words = [*prefield, finite, *middle, *nonfinite, *([prefix] if prefix else [])]
    return words + _postfield(clause)


def _verb_forms(clause: Clause) -> tuple[str, Words]:
    """Return the finite verb without its prefix, and the words of the right bracket."""
    verb = clause.verb.german
    person, number = agreement(clause.subject)
    if clause.modal:
        modal = clause.modal.german
        conjugate = de.preterite if clause.tense is Tense.PAST else de.present
        return conjugate(modal, person, number), [de.infinitive(verb)]
    match clause.tense:
        case Tense.PRESENT | Tense.PROGRESSIVE:
            return de.present(verb, person, number), []
        case Tense.PAST if verb.preterite:
            return de.preterite(verb, person, number), []
        case Tense.FUTURE:
            return de.present(de.WERDEN, person, number), [de.infinitive(verb)]
        case _:
            auxiliary = de.SEIN if verb.perfect_with_sein else de.HABEN
            return de.present(auxiliary, person, number), [de.participle(verb)]


def _postfield(clause: Clause) -> Words:
    """Return what is extraposed: a relative clause, or the standard of a comparison."""
    match clause.direct, clause.predicate:
        case NounPhrase(relative=FrontedClause() as relative), _:
            return [",", *_fronted_clause(relative), ","]
        case _, AdjectivePhrase(degree=degree, standard=standard) if standard:
            return [_COMPARISONS[degree], *nominal_words(standard, Case.NOMINATIVE)]
        case _:
            return []


def _middle_field(clause: Clause, front: Role | None) -> Words:
    """Return the constituents of the middle field, save the one that stands elsewhere."""
    negation = ["nicht"] if clause.negated and not _negates_article(clause) else []
    fondness = ["gern"] if clause.fond else []
    before, after = (
        [word for role in roles if role is not front for word in _constituent(clause, role)]
        for roles in _roles_around_negation(clause)
    )
    return before + negation + fondness + after


def _roles_around_negation(clause: Clause) -> tuple[list[Role], list[Role]]:
    """Return the order of the middle field: the known, adverbials and then the new."""
    objects = ((Role.INDIRECT, clause.indirect), (Role.DIRECT, clause.direct))
    pronouns = [role for role, nominal in reversed(objects) if isinstance(nominal, Pronoun)]
    new = [role for role, nominal in objects if _indefinite(nominal)]
    known = [role for role, _ in objects if role not in pronouns + new]
    if clause.indirect and known[-1:] == [Role.DIRECT]:
        known.insert(-1, Role.TIME)
    else:
        known.append(Role.TIME)
    rest = [Role.COMPANION, Role.PLACE, *new, Role.OBLIQUE, Role.PREDICATE]
    return [Role.SUBJECT, *pronouns, *known], rest


def _indefinite(nominal: Nominal | None) -> bool:
    """Tell whether a nominal brings something new into the conversation."""
    return isinstance(nominal, NounPhrase) and nominal.indefinite


def _negates_article(clause: Clause) -> bool:
    """Tell whether the negation of a clause is "kein" rather than "nicht"."""
    if clause.fond:
        return False
    if isinstance(clause.predicate, Occupation):
        return True
    negatable = clause.predicate if clause.direct is None else clause.direct
    return isinstance(negatable, NounPhrase) and negatable.determiner is Determiner.INDEFINITE


def _constituent(clause: Clause, role: Role) -> Words:
    """Return the words of a constituent, none if the clause lacks it."""
    negative = clause.negated and _negates_article(clause)
    match role:
        case Role.SUBJECT:
            return nominal_words(clause.subject, Case.NOMINATIVE)
        case Role.DIRECT if clause.direct:
            extraposed = _without_relative(clause.direct)
            return nominal_words(extraposed, clause.verb.case, negative=negative)
        case Role.INDIRECT if clause.indirect:
            return nominal_words(clause.indirect, Case.DATIVE)
        case Role.PREDICATE if clause.predicate:
            return _predicate(clause.predicate, negative=negative)
        case _:
            return _adverbial_constituent(clause, role)


def _adverbial_constituent(clause: Clause, role: Role) -> Words:
    """Return the words of an adverbial, none if the clause lacks it."""
    match adverbial(clause, role):
        case Adverb(german=text):
            return text.split()
        case PrepositionalPhrase() as phrase:
            return _prepositional_phrase(phrase, motion=role is Role.OBLIQUE)
        case _:
            return []


def _without_relative(nominal: Nominal) -> Nominal:
    """Return a nominal without the relative clause that stands in the postfield."""
    return replace(nominal, relative=None) if isinstance(nominal, NounPhrase) else nominal


def _predicate(predicate: Predicate, *, negative: bool) -> Words:
    """Return a predicative adjective, profession or noun phrase."""
    match predicate:
        case AdjectivePhrase(adjective, Degree.COMPARATIVE):
            return [de.comparative(adjective.german)]
        case AdjectivePhrase(adjective, degree):
            return [*_DEGREES[degree], adjective.german.predicative]
        case Occupation():
            return _occupation(predicate, negative=negative)
        case NounPhrase():
            return _noun_phrase(predicate, Case.NOMINATIVE, negative=negative)


def _occupation(occupation: Occupation, *, negative: bool) -> Words:
    """Return a profession in the form for a man, for a woman or for several people."""
    noun = occupation.noun
    feminine = occupation.number is Number.SINGULAR and occupation.gender is Gender.FEMININE
    gender = Gender.FEMININE if feminine else Gender.MASCULINE
    masculine = de.noun_form(noun.german, Case.NOMINATIVE, occupation.number)
    word = noun.feminine if feminine else masculine
    kein = de.ein_word("kein", Case.NOMINATIVE, gender, occupation.number)
    return [kein, word] if negative else [word]


def _prepositional_phrase(phrase: PrepositionalPhrase, *, motion: bool) -> Words:
    """Return a prepositional phrase, contracting preposition and definite article."""
    preposition = phrase.preposition
    two_way = Case.ACCUSATIVE if motion else Case.DATIVE
    words = nominal_words(phrase.nominal, preposition.case or two_way)
    contraction = _CONTRACTIONS.get((preposition.german, words[0]))
    if contraction and isinstance(phrase.nominal, NounPhrase):
        return [contraction, *words[1:]]
    return [preposition.german, *words]


def nominal_words(nominal: Nominal, case: Case, *, negative: bool = False) -> Words:
    """Return a nominal in a case."""
    match nominal:
        case Pronoun(person, number, gender):
            return [de.personal_pronoun(case, person, number, gender)]
        case Name(german=name):
            return [name]
        case Demonstrative():
            return ["das"]
        case Interrogative(human):
            return [_WHO[case] if human else "was"]
        case RelativePronoun(noun, number):
            return [de.relative_pronoun(case, noun.german.gender, number)]
        case Coordination(first, second):
            return [*nominal_words(first, case), "und", *nominal_words(second, case)]
        case NounPhrase():
            return _noun_phrase(nominal, case, negative=negative)


def _noun_phrase(phrase: NounPhrase, case: Case, *, negative: bool = False) -> Words:
    """Return a noun phrase in a case, with "kein" if it is negative."""
    noun, number = phrase.noun.german, phrase.number
    determiner, declension = _determiner(phrase, case, negative=negative)
    words = list(determiner)
    if phrase.adjective:
        form = de.adjective_form(phrase.adjective.german, declension, case, noun.gender, number)
        words.append(form)
    words.append(de.noun_form(noun, case, number))
    if isinstance(phrase.determiner, NounPhrase):
        words += _noun_phrase(phrase.determiner, Case.GENITIVE)
    if phrase.modifier:
        words += _prepositional_phrase(phrase.modifier, motion=False)
    if phrase.relative:
        words += [",", *_fronted_clause(phrase.relative), ","]
    return words


def _determiner(phrase: NounPhrase, case: Case, *, negative: bool) -> tuple[Words, de.Declension]:
    """Return a determiner and the declension of the adjective after it."""
    gender, number = phrase.noun.german.gender, phrase.number
    match phrase.determiner:
        case Determiner.DEMONSTRATIVE:
            return [de.der_word("dies", case, gender, number)], de.Declension.WEAK
        case Determiner.WHICH:
            return [de.der_word("welch", case, gender, number)], de.Declension.WEAK
        case Determiner.HOW_MANY:
            return ["wie", "viele"], de.Declension.STRONG
        case Determiner.INDEFINITE if negative:
            return [de.ein_word("kein", case, gender, number)], de.Declension.MIXED
        case Determiner.INDEFINITE if number is Number.PLURAL or not phrase.noun.countable:
            return [], de.Declension.STRONG
        case Determiner.INDEFINITE:
            return [de.ein_word("ein", case, gender, number)], de.Declension.MIXED
        case int(count):
            return [NUMERALS[count][1]], de.Declension.STRONG
        case Name(german=name):
            return [f"{name}s"], de.Declension.STRONG
        case Pronoun(owner_person, owner_number, owner_gender):
            stem = de.possessive_stem(owner_person, owner_number, owner_gender)
            return [de.ein_word(stem, case, gender, number)], de.Declension.MIXED
        case _:
            return [de.definite_article(case, gender, number)], de.Declension.WEAK
