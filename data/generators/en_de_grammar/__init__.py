"""A grammar of everyday English and German, from which `generators.en_de` makes its corpus.

Each module uses only modules named before it:

- `categories`: gender, number, person and case
- `english`, `german`: morphology, from citation forms to inflected forms
- `entries`: what a lexicon entry holds: translations and semantic features
- `nouns`, `verbs`, `adjectives`, `function_words`: the words
- `trees`: sentences before they are put into words of either language
- `english_syntax`, `german_syntax`: linearization, from trees to text
- `sampling`: random nominals and adverbials that respect the semantic features
- `tenses`, `actions`, `descriptions`, `questions`: random clauses
- `circumstances`: random pairs of clauses that make sense together
- `patterns`: random sentences, one function for each pattern
"""
