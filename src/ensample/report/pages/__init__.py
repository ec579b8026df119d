"""What all pages share: style sheet, colours, template environment."""
