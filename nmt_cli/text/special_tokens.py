"""The ids and names of the tokens that are no text: one source for tokenizer, model and search."""

PAD_ID, BOS_ID, EOS_ID, USER_ID, BOT_ID, PERSONA_ID = range(6)
CONTROL_TOKENS = ("<pad>", "<s>", "</s>", "<user>", "<bot>", "<persona>")
NEVER_WRITTEN = tuple(i for i in range(len(CONTROL_TOKENS)) if i != EOS_ID)  # in no output
BYTE_TOKENS = tuple(f"<0x{byte:02X}>" for byte in range(256))

WORD_MARKER = "\u2581"  # the word marker, as SentencePiece writes it
