"""Addresses of accounts."""

from django.urls import path

from apps.accounts import views

app_name = "accounts"
urlpatterns = [
    path("", views.account, name="account"),
    path("visibility/", views.visibility, name="visibility"),
    path("named/", views.named, name="named"),
    path("export/", views.export, name="export"),
    path("delete/", views.delete, name="delete"),
    path("login/", views.login, name="login"),
    path("logout/", views.logout, name="logout"),
    path("signup/", views.signup, name="signup"),
    path("link/<str:token>/", views.login_link, name="login_link"),
]
