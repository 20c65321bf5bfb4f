"""What the pages of studies show. `shown.py` has the figures; begin with `reading.py`."""

from apps.catalog.learned import learned as learned
from apps.studies.pages.curves import curves_page as curves_page
from apps.studies.pages.curves import recipe_page as recipe_page
from apps.studies.pages.progress import progress as progress
from apps.studies.pages.reading import EXAMPLE as EXAMPLE
from apps.studies.pages.reading import MOST as MOST
from apps.studies.pages.reading import of_study as of_study
from apps.studies.pages.reading import recorded as recorded
from apps.studies.pages.reading import recorded_studies as recorded_studies
from apps.studies.pages.reading import tabs as tabs
from apps.studies.pages.runs import one_run as one_run
from apps.studies.pages.shown import figures as figures
