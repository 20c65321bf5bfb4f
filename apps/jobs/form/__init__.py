"""The form that becomes a `Submission`: what is found and chosen in it, and its pages. Its fields: `forms`.

Begin with `entries`: everything that is chosen is in the fields of the form, also without JavaScript.
"""
