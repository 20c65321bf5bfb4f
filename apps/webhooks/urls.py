"""Addresses of webhooks."""

from django.urls import path

from apps.webhooks import views

app_name = "webhooks"
urlpatterns = [
    path("", views.list, name="list"),
    path("<int:webhook_id>/", views.webhook, name="webhook"),
    path("<int:webhook_id>/change/", views.change, name="change"),
    path("<int:webhook_id>/edit/", views.edit, name="edit"),
    path("deliveries/<slug:delivery_id>/again/", views.send_again, name="send_again"),
]
