"""The look of all figures: palette, matplotlib settings, SVG inside pages, files."""
