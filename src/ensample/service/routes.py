"""All routes, in the order of the page /docs, which is that of matching."""

from ensample.service.endpoint import Route
from ensample.service.handlers import decisions, documentation, experiments, logs, operations, pages
from ensample.service.protocols import ofrep, personalizer

ROUTES: tuple[Route, ...] = (
    experiments.put_experiment,
    decisions.decide,
    decisions.reward,
    experiments.experiment,
    logs.export,
    logs.evaluate,
    decisions.explain,
    decisions.reward_all,
    decisions.activate,
    decisions.activate_all,
    decisions.event,
    experiments.change_actions,
    experiments.pause,
    experiments.experiments,
    logs.take_log,
    ofrep.evaluate_flag,
    ofrep.evaluate_flags,
    personalizer.rank,
    personalizer.reward_event,
    personalizer.activate_event,
    pages.experiments_page,
    pages.experiment_page,
    documentation.docs,
    documentation.openapi,
    pages.static_file,
    operations.readyz,
    operations.healthz,
    operations.metrics,
)
