"""Addresses of the daily seed."""

from django.urls import path

from apps.daily import views

app_name = "daily"
urlpatterns = [
    path("", views.today, name="today"),
    path("begin/", views.begin, name="begin"),
    path("line/", views.line, name="line"),
    path("<int:number>/", views.day, name="day"),
    path("<int:number>/<slug:episode_id>/", views.shared, name="shared"),
    path("<int:number>/<slug:episode_id>/card.svg", views.card_svg, name="card_svg"),
    path("<int:number>/<slug:episode_id>/card.png", views.card_png, name="card_png"),
]
