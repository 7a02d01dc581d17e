"""The model folder: its manifest and checksums, its CTranslate2 form, and the file to share."""
