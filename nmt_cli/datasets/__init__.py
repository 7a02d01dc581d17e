"""Known public data sets, and how their files arrive."""
