"""The paper retold as claims: a page, and the same as Markdown."""

from ensample.report.paper.document import write_document
from ensample.report.paper.findings import Finding
from ensample.report.paper.html import page

__all__ = ["Finding", "page", "write_document"]
