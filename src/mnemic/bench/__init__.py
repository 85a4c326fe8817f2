"""How good are the answers on labelled folders, and how fast are they?"""
