"""The local application: all projects of a person on one page, where new ones are created.

A project is a workspace. This package serves the page with the list, and each project under ``/projects/NAME/`` by the
application of :mod:`opengcd.service.app`.
"""
