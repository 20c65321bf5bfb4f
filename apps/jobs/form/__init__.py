"""The form that becomes a `Submission`: its fields (`apps.jobs.forms`), what is found and chosen, and its pages (`views`).

Begin with `entries`: everything that is chosen is in the fields of the form, also without JavaScript.
"""
