"""Page and Markdown of the paper retold as claims."""

from ensample.report.paper.page import page, write_document
from ensample.report.paper.text import Finding

__all__ = ["Finding", "page", "write_document"]
