"""Which words speak of one attribute? English wordings in families, so that "moved to" meets "where do I live"."""

# ruff: noqa: E501 - one family of wordings a line

from __future__ import annotations

import re
from string import ascii_lowercase, ascii_uppercase
from typing import Final

__all__ = ["FAMILIES", "MULTIPLE", "attribute_spans", "without_attributes"]

# One family a line; several families may match a clause. A family that ends in * holds many values at once, so a
# newer value replaces none. Prefer phrases to bare words: what is missed here is still found by its own words.
_FAMILIES: Final = r"""
residence = (?:liv(?:es?|ed|ing)|resid(?:es?|ed|ing)) (?:in|at|near|over in|out in|back in)|where (?:do|did|does|am|was|is|have) [\w ]{1,30}?(?:liv(?:e|ed|ing)|based|stay(?:ing)?)\b|(?:am|'m|is|are|was|were|'re|now) based (?:in|at|out of)|(?:moved?|moving|relocat\w+)(?: \w+)? (?:to|into|back)|relocated|settled (?:in|down)|(?<!at )(?<!from )(?<!a )(?<!going )\b(?:home|hometown|home base)(?: is| was|'s)?\b(?! (?:screen|page|office|gym|game|made|cook))|(?:home|new|current) address|(?:city|town|country|place) (?:do|did|does|am) \w+ (?:live|call)
employer = (?:work(?:s|ed|ing)?|job|position|role|contract|gig) (?:\w+ )?(?:at|for)|employ(?:er|ed)|(?:which|what) (?:company|firm|employer)|(?:my|the|new|old) (?:company|firm|employer)|joined (?!in\b|us\b|a \b)|on the payroll|pays my (?:salary|wages)
role = work(?:s|ed|ing)? as|(?:job|job title|title|profession|occupation|career|line of work|day job)\b(?! (?:at|for|interview|offer|search|hunt))|for a living|by (?:profession|trade|training)|promoted to|what (?:do|does|did) \w+ do for work
vehicle = dr(?:ive|ives|ove|iving)\b(?! (?:me|us|up|back|home))|(?:my|our|new|old|which|what|own|the|family) (?:\w+ )?(?:car|vehicle|truck|van|motorbike)\b|gets? around (?:in|on)|behind the wheel
commute = commut\w+|get(?:s|ting)? to (?:work|the office|my office|my desk)|(?:way|ride|trip|journey|door) (?:in)?to (?:work|the office)
diet = diets?\b|(?:eat|eating|ate|am|'m|gone?|went|going|turned|now|become|became) (?:\w+ )?(?:vegan|vegetarian|pescatarian|keto|kosher|halal|paleo|gluten-free|low-carb|plant-based|carnivore|flexitarian|omnivore)\b
editor = (?:code |text |main |daily |my |which |what )editor|\beditor of choice|\bide\b|(?:write|writing|wrote|edit|editing) (?:\w+ ){0,2}code (?:in|with|using)|(?:code|program) in\b
phone number = (?:phone|mobile|cell|contact|telephone) number|reach me (?:at|on)
phone = (?:my|new|old|which|what|current) (?:\w+ )?(?:phone|handset|smartphone|mobile)\b(?! number| plan| bill| carrier)
carrier = (?:phone|mobile|cell) (?:plan|carrier|provider|contract)|(?:internet|broadband) (?:provider|plan)
email = e-?mail(?: address)?\b
partner = (?:my|his|her|our) (?:wife|husband|girlfriend|boyfriend|spouse|fianc\w+|partner)(?: is| was|'s name)|married to|dating\b|engaged to|going out with|who(?: is| was|'s) my (?:wife|husband|partner|girlfriend|boyfriend|spouse)
manager = (?:line |team )?(?:manager|boss|supervisor)\b|report(?:s|ed|ing)? (?:in)?to (?!the office)
doctor = (?:doctor|physician|\bgp\b)(?! who)
dentist = dentist|teeth (?:are|get|is) (?:\w+ )?by|dental (?:practice|clinic|provider)
gym = (?:my|new|which|what|the|local) gym\b|(?:work|working|works|worked) out (?:at|in)|train(?:s|ing|ed)? at|gym (?:is|member\w+|i)
bank = (?:my|new|main|which|what|our) bank\b|bank(?:s|ing|ed)? with|(?:checking|current|savings|main) account (?:is|at|with)
school = (?:enrolled|studying|studies|studied|study) (?:at|in)|(?:attend|go|goes|went|going) to (?:\w+ )?(?:school|university|college)|(?:my|which|what|her|his) (?:school|university|college)
salary = salary|wages?\b|paid (?:an? )?(?:hour|month|year)|earn(?:s|ing)?\b
rent = \brent\b(?! out)|rent (?:is|costs|went)
weight = weigh(?:s|ed|ing)?\b|(?:my|current) weight
age = years old|\bhow old\b|\bturn(?:ed|ing|s) \d+|(?:my|his|her) age
wake time = w[oa]ke(?:s|n)?(?: \w+)? up|waking(?: \w+)? up|gets? up (?:at|around)|alarm (?:is|goes|rings|set)|wake-?up time|what time [\w ]{1,20}(?:get up|wake)
bedtime = bed ?time|go(?:es|ing)? to (?:bed|sleep)|lights out|turn(?:s|ing)? in (?:at|around)
browser = browser\b|brows(?:e|ing) (?:with|in)
operating system = operating system|(?:laptop|desktop|computer|machine) runs|\bruns? (?:linux|windows|macos)|distro\b
laptop = (?:my|new|which|what|work|old) (?:\w+ )?(?:laptop|notebook computer)\b(?! runs)
music instrument = (?:play|plays|played|playing|learning|practi[cs]ing) (?:the )?(?:\w+ )?(?:guitar|piano|violin|cello|drums|flute|bass|saxophone|trumpet|ukulele|viola|harp|clarinet)|instrument\b
deadline = deadline|due (?:date|on|by)|\bis due\b|submission date
budget = budget\b
goal = (?:my|our|the|current|savings|reading|weekly|daily) (?:\w+ )?(?:goal|target)\b|(?:aim|aiming|hoping|determined) (?:to|for) (?:reach|hit|read|save|run)
coffee = (?:coffee|morning|usual) (?:order|drink)|(?:drink|have|order|take) (?:my )?coffee|my usual (?:coffee|drink)
lead = (?:team|tech|project|squad) lead\b|leads the|in charge of|head of
insurance = (?:my|our|new|which|what|health|car|home|travel) (?:\w+ )?insur(?:er|ance)|insured (?:by|with)
medication = medic(?:ine|ation)|\bdos(?:e|age)\b|prescri\w+|\bmg\b
provider = host(?:ed|ing)(?: provider| on| by| at)?\b|deploy(?:s|ed)? (?:on|to)
database = database\b
hobby* = hobb(?:y|ies)|free time|spare time|on weekends|pastime
language* = (?:speak|speaks|know|learn(?:ing)?) (?:the )?(?:language|\w{2,12}(?:ese|ish|ian|ic|an|ek|ch)\b)|languages? i (?:know|speak)|language i know|conversation in\b
pet* = lives with me|(?:have|own|got|adopted) (?:an? |two |three |\d )(?:\w+ )?(?:dogs?|cats?|rabbits?|geckos?|puppy|kittens?|beagles?|parrots?|hamsters?)\b|\bpets?\b
like* = (?:i|we) (?:really |absolutely |just )?(?:love|like|enjoy|adore)\b|one of my (?:favou?rite|best)
allergy* = allerg\w+
"""


def _read(families: str) -> list[tuple[str, re.Pattern[str]]]:
    rows = (line.split(" = ", 1) for line in families.strip().splitlines())
    return [(name, re.compile(rf"\b(?:{pattern})")) for name, pattern in rows]


MULTIPLE: Final = frozenset(name.removesuffix("*") for name, _ in _read(_FAMILIES) if name.endswith("*"))
"""Attributes that hold many values at once: a newer one replaces none."""

_PATTERNS: Final = [(name.removesuffix("*"), pattern) for name, pattern in _read(_FAMILIES)]


FAMILIES: Final = frozenset(name for name, _ in _PATTERNS)
"""The attributes that have a family of wordings."""

_LOWER: Final = str.maketrans(ascii_uppercase, ascii_lowercase)  # keeps every place, as str.lower does not


def attribute_spans(clause: str) -> list[tuple[str, int, int]]:
    """Find the attribute families that a clause speaks of, with the place of the words that tell.

    Args:
        clause: One clause or one question, of bounded length.

    Returns:
        Name of the family, start and end, each family once, in the order of the table.
    """
    lowered = clause.translate(_LOWER)
    found = ((name, pattern.search(lowered)) for name, pattern in _PATTERNS)
    return [(name, *match.span()) for name, match in found if match]


def without_attributes(clause: str, names: tuple[str, ...]) -> str:
    """Leave out the words that speak of the named families; what is left tells which one of several is meant."""
    for name, pattern in _PATTERNS:
        if name in names:
            clause = pattern.sub(" ", clause.translate(_LOWER))
    return clause
