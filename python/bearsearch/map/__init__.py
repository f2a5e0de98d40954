"""A picture of the library as one HTML page: notes near to each other mean something alike.

    layout.py   vectors -> places in the plane; numpy only
    page.py     places and notes -> the page
    page.html   the page's markup, style and program, with a hole for the data

The page asks nothing of any network: its policy forbids it. Which notes are drawn is decided by the service.
"""
