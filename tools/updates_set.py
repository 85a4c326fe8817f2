"""Write a set of questions about facts that change, in the format of the evaluation kit.

    python -m tools.updates_set build/updates

Three kinds of writers (terse, chatty, formal) tell of attributes of their own life and change them; the wordings are
kept apart from the rules that read them. The same seed gives the same files.
"""

# ruff: noqa: E501 - tables of sentences

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import product
from pathlib import Path

__all__ = ["main"]

STYLES = ("terse", "chatty", "formal")
_START = datetime(2025, 1, 6, 8, 0)  # noqa: DTZ001 - the format keeps times without a zone
_DATES = ("%d %B %Y", "%B %d, %Y", "%Y-%m-%d")


@dataclass(frozen=True)
class Attribute:
    """One attribute: its values, how each kind of writer states it (``||`` parts wordings), and how it is asked for.

    ``ask`` is a question in the present, ``was`` the same in the past tense with the room for a time at its end.
    """

    name: str
    values: str
    terse: str
    chatty: str
    formal: str
    ask: str
    was: str
    noun: str

    def wordings(self, style: str) -> list[str]:
        """The sentences of one kind of writer."""
        return [wording.strip() for wording in str(getattr(self, style)).split("||")]


ATTRIBUTES = (
    Attribute(
        "locker",
        "118|57|204|31|76",
        "locker {v} || got locker {v}",
        "Ha, they've shuffled the lockers about and I ended up with number {v}. || My stuff lives in locker {v}, right by the showers.",
        "Please note that I have been assigned locker {v}. || The locker under my name is number {v}.",
        "Which locker is mine?",
        "Which locker was mine",
        "locker",
    ),
    Attribute(
        "tea",
        "Assam|rooibos|sencha|lapsang|oolong",
        "tea: {v} || {v} in the pot every morning",
        "I can't get going without a mug of {v}, it's all I brew. || Honestly I'm a {v} person through and through, kettle's never off.",
        "The tea I take in the morning is {v}. || I would be grateful if {v} tea could be provided for me.",
        "What tea do I drink in the morning?",
        "What tea did I drink in the morning",
        "morning tea",
    ),
    Attribute(
        "choir part",
        "alto|soprano|tenor|baritone|mezzo",
        "choir - {v} || singing {v} w/ the choir",
        "Our conductor stuck me with the {v}s and I love it. || Guess who stands among the {v}s at choir!",
        "In the choir I sing the {v} part. || The conductor has placed me in the {v} section.",
        "Which voice do I sing in the choir?",
        "Which voice did I sing in the choir",
        "voice in the choir",
    ),
    Attribute(
        "plant watering",
        "3|5|7|10|14",
        "fern: water every {v} days || fern needs a drink each {v} d",
        "The fern gets its drink every {v} days, poor thing. || I splash some water on the fern once in {v} days and it seems happy.",
        "The fern is to be watered at intervals of {v} days. || I water the fern every {v} days.",
        "How many days are there between waterings of the fern?",
        "How many days were there between waterings of the fern",
        "watering interval of the fern",
    ),
    Attribute(
        "mentor",
        "Ines|Tobias|Farah|Henrik|Yuki",
        "mentor = {v} || mentoring w/ {v}",
        "{v} has taken me under her wing at work, so lucky. || I get to pick {v}'s brain every fortnight, best mentor ever.",
        "{v} acts as my mentor. || My mentoring sessions are conducted by {v}.",
        "Who mentors me?",
        "Who mentored me",
        "mentor",
    ),
    Attribute(
        "stand-up",
        "9:15|9:45|10:30|8:50|11:00",
        "standup {v} || stand-up @ {v}",
        "We all huddle for stand-up at {v}, coffee in hand. || Ugh, stand-up kicks off at {v} sharp.",
        "The stand-up meeting commences at {v}. || Our daily stand-up has been scheduled for {v}.",
        "When does our stand-up begin?",
        "At what time did our stand-up begin",
        "stand-up time",
    ),
    Attribute(
        "running shoes",
        "Brooks Ghost|Saucony Ride|Hoka Clifton|Asics Nimbus|Altra Torin",
        "running in {v} || shoes for runs: {v}",
        "I do all my miles in {v}s, they feel like clouds. || My feet are in love with the {v}, wouldn't jog in anything else.",
        "For running I wear the {v}. || The footwear I use on my runs is the {v}.",
        "Which shoes do I run in?",
        "Which shoes did I run in",
        "running shoes",
    ),
    Attribute(
        "cat food",
        "salmon pate|turkey chunks|duck kibble|rabbit stew|tuna flakes",
        "cat eats {v} || bowl: {v} for the cat",
        "Her royal highness the cat only touches {v}. || The cat goes bonkers for {v}, so that's in her bowl.",
        "The cat is fed {v}. || I provide the cat with {v} at each meal.",
        "What does the cat get to eat?",
        "What did the cat get to eat",
        "food of the cat",
    ),
    Attribute(
        "parking",
        "level 2|level 5|the north lot|bay 14|the roof deck",
        "parking: {v} || leave the bike at {v}",
        "I squeeze in at {v} every day, it's a zoo. || They let me park at {v}, fancy that.",
        "My allocated parking space is at {v}. || I park at {v} on working days.",
        "Where do I park?",
        "Where did I park",
        "parking place",
    ),
    Attribute(
        "thermostat",
        "18|19|20|21|17",
        "heating {v} C || thermostat -> {v}",
        "It's cosy here, the thermostat sits at {v} degrees. || We keep the flat at {v} degrees or my flatmate moans.",
        "The thermostat has been set to {v} degrees. || The temperature of the flat is maintained at {v} degrees.",
        "To how many degrees is the heating set?",
        "To how many degrees was the heating set",
        "heating temperature",
    ),
    Attribute(
        "log level",
        "debug|info|warning|error|trace",
        "log level {v} || ingest logs at {v}",
        "The ingest service chatters away at {v} level. || I've got the ingest logs on {v}, saves my sanity.",
        "The ingest service logs at level {v}. || For the ingest service, the verbosity is {v}.",
        "At which level does the ingest service log?",
        "At which level did the ingest service log",
        "log level of the ingest service",
    ),
    Attribute(
        "cloud region",
        "Frankfurt|Oregon|Mumbai|Sydney|Montreal",
        "staging in {v} || region (staging): {v}",
        "Our staging box hums along somewhere in {v}. || Staging's servers are over in {v}, don't ask why.",
        "The staging environment runs in the {v} region. || Staging is operated from {v}.",
        "In which region does staging run?",
        "In which region did staging run",
        "region of staging",
    ),
    Attribute(
        "on-call day",
        "Tuesday|Thursday|Saturday|Monday|Friday",
        "on call {v} || pager: {v}s",
        "The pager's mine on {v}s, wish me luck. || {v} is my pager day, so no cinema then.",
        "I am on call on {v}s. || My on-call duty falls on {v}.",
        "On which weekday am I on call?",
        "On which weekday was I on call",
        "on-call day",
    ),
    Attribute(
        "hairdresser",
        "Salon Nova|Clip Joint|Studio Birch|Mane Street|Combs & Co",
        "haircut @ {v} || hair: {v}",
        "I let the folks at {v} chop my hair, no regrets. || {v} does my hair, they know my cowlick by name.",
        "I have my hair cut at {v}. || My hairdresser is {v}.",
        "Where do I get my hair cut?",
        "Where did I get my hair cut",
        "hairdresser",
    ),
    Attribute(
        "library branch",
        "Elm Street|Harbour|Castle Hill|Riverside|Westgate",
        "library: {v} branch || books from {v} library",
        "I borrow everything from the {v} branch, the librarian's a gem. || You'll find me at the {v} library most Sundays.",
        "I am registered with the {v} branch of the library. || The library branch I frequent is {v}.",
        "Which library branch do I borrow from?",
        "Which library branch did I borrow from",
        "library branch",
    ),
    Attribute(
        "chess opening",
        "the London|the Caro-Kann|the Scotch|the Dutch|the Vienna",
        "opening: {v} || chess - {v} as always",
        "Over the board I open with {v}, it drives people mad. || {v} is my weapon of choice at the chess club.",
        "The opening I employ at the chess club is {v}. || In chess I rely upon {v}.",
        "Which opening do I play at the chess club?",
        "Which opening did I play at the chess club",
        "chess opening",
    ),
    Attribute(
        "town",
        "Turku|Leeds|Bilbao|Graz|Perth",
        "town: {v} || address in {v}",
        "The boxes are unpacked and my post goes to {v}. || I've put down roots in {v}, the bakeries are a dream.",
        "My place of residence is {v}. || I have taken up residence in {v}.",
        "Which town do I live in?",
        "Which town did I live in",
        "town",
    ),
    Attribute(
        "workplace",
        "Ostrich Media|Lumen Rail|Quarry Foods|Tern Robotics|Halo Dental",
        "day job @ {v} || {v} pays the bills",
        "The badge round my neck says {v}, imagine that. || I clock in at {v} every morning.",
        "I am a member of staff at {v}. || My contract of employment is with {v}.",
        "Who do I work for?",
        "Who did I work for",
        "workplace",
    ),
    Attribute(
        "sourdough flour",
        "rye|spelt|emmer|wholemeal|einkorn",
        "starter fed w/ {v} || bread flour: {v}",
        "My sourdough starter gobbles up {v} flour. || I bake my loaves with {v}, the crumb is unreal.",
        "I bake bread with {v} flour. || The flour in my sourdough is {v}.",
        "Which flour do I bake with?",
        "Which flour did I bake with",
        "flour for the bread",
    ),
    Attribute(
        "swim lane time",
        "6:40|7:20|12:15|18:30|20:00",
        "swim {v} || pool slot {v}",
        "I jump in the pool at {v}, still half asleep. || My lane at the pool is booked for {v}.",
        "My swimming session starts at {v}. || The pool has reserved a lane for me at {v}.",
        "At what hour do I swim?",
        "At what hour did I swim",
        "swimming time",
    ),
)

_CHANGES: Mapping[str, Sequence[str]] = {
    "terse": ("{s}", "{s} (was {o})", "scrap {o}. {s}", "{s}, {o} is out"),
    "chatty": ("{s}", "Plot twist! {s}", "So long, {o}. {s}", "I made the jump. {s}", "{s} {o} is history."),
    "formal": ("{s}", "With immediate effect: {s}", "In place of {o}: {s}", "This supersedes my earlier notice. {s}"),
}
_OTHERS: Mapping[str, Sequence[str]] = {
    "terse": ("{who}: {s}", "acc. to {who}, re {who}: {s}"),
    "chatty": ('{who} was bragging again: "{s}"', '"{s}" - that was {who}, not me, obviously.'),
    "formal": ('{who} informed me as follows: "{s}"', 'For {who}, the following holds: "{s}"'),
}
_MAYBES: Mapping[str, Sequence[str]] = {
    "terse": ("idea, not decided: {s}", "someday? {s}"),
    "chatty": (
        'Part of me is itching to say one fine day: "{s}"',
        'Picture me saying "{s}" - not happening yet, though.',
    ),
    "formal": ('Under discussion, without any decision: "{s}"', 'It is conceivable that I shall one day write: "{s}"'),
}
# A second bank, written after the first had been looked at: the figure on it is the blind one.
SECOND = (
    Attribute(
        "vet",
        "Dr Okafor|Dr Lindqvist|Dr Marsh|Dr Pereira|Dr Novak",
        "vet for rex: {v} || rex sees {v}",
        "Rex gets his jabs from {v}, who bribes him with cheese. || When Rex limps we run to {v}.",
        "Rex is under the care of {v}. || The veterinary surgeon who treats Rex is {v}.",
        "Who treats Rex?",
        "Who treated Rex",
        "vet",
    ),
    Attribute(
        "podcast",
        "Night Ferry|Odd Soil|The Ledger|Paper Moons|Small Engines",
        "podcast on repeat: {v} || ears: {v}",
        "I fall asleep to {v} these nights, the host's voice is honey. || My earbuds play nothing but {v}.",
        "The podcast I listen to is {v}. || On my commute by tram I listen to {v}.",
        "Which podcast do I listen to?",
        "Which podcast did I listen to",
        "podcast",
    ),
    Attribute(
        "sprint length",
        "one week|two weeks|three weeks|ten days|a month",
        "sprint = {v} || sprints: {v} each",
        "Our sprints drag on for {v}, imagine. || We plan in chunks of {v} at work.",
        "The duration of our sprints is {v}. || Our team works in sprints of {v}.",
        "How long are our sprints?",
        "How long were our sprints",
        "sprint length",
    ),
    Attribute(
        "allotment",
        "12b|7a|31c|4d|19e",
        "plot {v} || digging plot {v}",
        "My tomatoes are sulking on plot {v}. || I grow leeks and dreams on plot {v} at the allotments.",
        "I am the tenant of allotment plot {v}. || The allotment plot in my charge is {v}.",
        "Which allotment plot do I tend?",
        "Which allotment plot did I tend",
        "allotment plot",
    ),
    Attribute(
        "bus",
        "14|29|88|5|61",
        "bus {v} || riding the {v}",
        "I hop on the {v} with my eyes half closed. || The {v} is my chariot to the studio.",
        "I take bus {v} to the studio. || The bus line that I use to reach the studio is {v}.",
        "Which bus takes me to the studio?",
        "Which bus took me to the studio",
        "bus to the studio",
    ),
    Attribute(
        "drummer",
        "Sasha|Rune|Malik|Petra|Joon",
        "drums: {v} || {v} on drums",
        "{v} hits the skins for our band and it's glorious. || Behind our drum kit sits {v}, loudest human alive.",
        "The drummer of our band is {v}. || {v} has been engaged as drummer of our band.",
        "Who plays the drums in our band?",
        "Who played the drums in our band",
        "drummer",
    ),
    Attribute(
        "backup",
        "a NAS in the attic|Backblaze|two USB sticks|tape|Hetzner",
        "backups -> {v} || backup: {v}",
        "All my photos are backed up to {v}, touch wood. || If the laptop dies, {v} has my back.",
        "My data are backed up to {v}. || For backups I make use of {v}.",
        "Where are my backups kept?",
        "Where were my backups kept",
        "place for backups",
    ),
    Attribute(
        "badminton",
        "Mondays|Wednesdays|Fridays|Sundays|Saturdays",
        "badminton {v} || shuttlecocks: {v}",
        "Badminton with the gang happens on {v}. || We whack shuttlecocks about on {v}.",
        "Badminton practice is held on {v}. || I attend badminton practice on {v}.",
        "On which day is badminton?",
        "On which day was badminton",
        "badminton day",
    ),
    Attribute(
        "pillow",
        "buckwheat|memory foam|down|latex|wool",
        "pillow: {v} || sleeping on {v}",
        "My head rests on a {v} pillow, best naps ever. || I snooze on {v} and my neck sings.",
        "I sleep on a {v} pillow. || The filling of my pillow is {v}.",
        "What is my pillow filled with?",
        "What was my pillow filled with",
        "pillow filling",
    ),
    Attribute(
        "approver",
        "Greta|Omar|Lucia|Stellan|Mei",
        "invoices signed by {v} || approver: {v}",
        "Nothing gets paid until {v} scribbles on it. || I chase {v} for every invoice signature.",
        "Invoices are approved by {v}. || The authority to approve invoices rests with {v}.",
        "Who approves the invoices?",
        "Who approved the invoices",
        "approver of invoices",
    ),
)
_SECOND_CHANGES: Mapping[str, Sequence[str]] = {
    "terse": ("{s}", "{s} / ex {o}", "no {o} any longer > {s}", "{o} -> old news. {s}"),
    "chatty": (
        "{s}",
        "Big news, folks: {s}",
        "We waved {o} off. {s}",
        "After much grumbling: {s}",
        "{s} Never thought I'd leave {o} behind.",
    ),
    "formal": ("{s}", "Amended entry: {s}", "{s} The entry {o} has lapsed.", "Kindly disregard {o}. {s}"),
}
_SECOND_OTHERS: Mapping[str, Sequence[str]] = {
    "terse": ("{who} says: {s}", "{who}'s: {s}"),
    "chatty": ('Got a postcard from {who}: "{s}"', "My cousin {who} goes: {s}"),
    "formal": ('{who} has stated: "{s}"', "As regards {who}, I was told this: {s}"),
}
_SECOND_MAYBES: Mapping[str, Sequence[str]] = {
    "terse": ("maybe later: {s}", "if all goes well: {s}"),
    "chatty": ('I keep daydreaming of telling you "{s}"', "Who knows, by winter it may well be: {s}"),
    "formal": ("Should the request be granted, this would apply: {s}", 'I am considering the following wording: "{s}"'),
}
_BANKS = {
    "first": (ATTRIBUTES, _CHANGES, _OTHERS, _MAYBES),
    "second": (SECOND, _SECOND_CHANGES, _SECOND_OTHERS, _SECOND_MAYBES),
}
_PEOPLE = ("Bela", "Cosmo", "Dunja", "Emeka")
_SMALL_TALK: Mapping[str, Sequence[str]] = {
    "terse": (
        "rain all day",
        "buy stamps",
        "film night went ok",
        "call the plumber",
        "bike chain oiled",
        "lost an umbrella",
    ),
    "chatty": (
        "The neighbours are drilling again, send help.",
        "I tried juggling and broke a lamp.",
        "There was a fox on the balcony, no joke!",
        "Mum sent a crate of plums, anyone hungry?",
        "The concert last night blew me away.",
        "My bus was late and I finished a whole crossword.",
    ),
    "formal": (
        "The lift is out of order until further notice.",
        "I have received the minutes with thanks.",
        "The window cleaners attended on schedule.",
        "An umbrella was left in the meeting room.",
        "I should like to thank everybody for the flowers.",
        "The parcel arrived in good condition.",
    ),
}
_CURRENT = ("{ask}", "As things stand, {lower}", "Remind me: {lower}", "{bare} right now?", "{bare} at present?")
_HISTORY = (
    "Give me every {noun} I have had, in order.",
    "Walk me through the history of my {noun}.",
    "List each {noun} so far.",
)
_WHEN = (
    "When did my {noun} last change?",
    "When did I switch to {v} as my {noun}?",
    "Since when has my {noun} been {v}?",
)
_BEFORE = ("{was} before {v}?", "What was my {noun} prior to the current one?", "{was} previously?")


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the folder that is named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--writers", type=int, default=8, help="writers of each kind")
    parser.add_argument("--bank", choices=sorted(_BANKS), action="append", help="words to write with; both by default")
    parser.add_argument("--seed", type=int, default=4)
    options = parser.parse_args(arguments)
    rows: dict[str, list[dict[str, object]]] = {"memories": [], "queries": [], "updates": []}
    for bank, style, number in product(options.bank or sorted(_BANKS), STYLES, range(options.writers)):
        chance = random.Random(f"{options.seed}:{bank}:{style}:{number}")  # noqa: S311 - seeded on purpose
        _Writer(bank, style, f"{bank}-{style}-{number}", chance).write(rows)
    options.folder.mkdir(parents=True, exist_ok=True)
    for name, lines in rows.items():
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        (options.folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
        print(f"{options.folder / name}.jsonl: {len(lines)} lines")


Rows = Mapping[str, list[dict[str, object]]]


@dataclass(frozen=True)
class _Version:
    id: str
    value: str
    at: datetime


class _Writer:
    """One person: what they say over a year and a half, and what they are asked."""

    def __init__(self, bank: str, style: str, tenant: str, chance: random.Random) -> None:
        self._attributes, self._changes, self._others, self._maybes = _BANKS[bank]
        self._style, self._tenant, self._chance = style, tenant, chance
        self._now = _START + timedelta(days=560)
        self._said: list[tuple[datetime, str, str]] = []

    def write(self, rows: Rows) -> None:
        chosen = self._chance.sample(self._attributes, 6)
        histories = [(attribute, self._history(attribute)) for attribute in chosen[:5]]
        for place, text in enumerate(_SMALL_TALK[self._style]):
            self._say(f"talk:{place}", text, self._day(0, 550))
        arrival = sorted(self._said, key=lambda said: (said[0] + timedelta(days=self._late()), said[1]))
        rows["memories"].extend(self._memory(at, id_, text) for at, id_, text in arrival)
        for attribute, versions in histories:
            for query, update in self._asked(attribute, versions):
                rows["queries"].append(query)
                if update:
                    rows["updates"].append(update)
        rows["queries"].append(self._query("never", chosen[5].name, chosen[5].ask, (), None))

    def _late(self) -> int:
        return self._chance.randint(20, 90) if self._chance.random() < 0.12 else 0

    def _day(self, first: int, last: int) -> datetime:
        return _START + timedelta(days=self._chance.randint(first, last), minutes=self._chance.randint(0, 720))

    def _say(self, id_: str, text: str, at: datetime) -> str:
        self._said.append((at, f"{self._tenant}:{id_}", text))
        return f"{self._tenant}:{id_}"

    def _statement(self, attribute: Attribute, value: str) -> str:
        said = self._chance.choice(attribute.wordings(self._style)).format(v=value)
        return said[:1].upper() + said[1:] if self._style != "terse" else said

    def _history(self, attribute: Attribute) -> list[_Version]:
        values = self._chance.sample(attribute.values.split("|"), 5)
        count = self._chance.choice((1, 2, 3, 3))
        versions: list[_Version] = []
        for number in range(count):
            text = self._statement(attribute, values[number])
            if number:
                text = self._chance.choice(self._changes[self._style]).format(s=text, o=values[number - 1])
            at = self._day(40 + number * 160, 150 + number * 160)
            versions.append(_Version(self._say(f"{attribute.name}:{number}", text, at), values[number], at))
        other = self._chance.choice(self._others[self._style])
        text = other.format(who=self._chance.choice(_PEOPLE), s=self._statement(attribute, values[3]))
        self._say(f"{attribute.name}:other", text, self._day(300, 550))
        maybe = self._chance.choice(self._maybes[self._style]).format(s=self._statement(attribute, values[4]))
        self._say(f"{attribute.name}:maybe", maybe, self._day(300, 550))
        return versions

    def _memory(self, at: datetime, id_: str, text: str) -> dict[str, object]:
        said = {"id": id_, "tenant": self._tenant, "text": text, "speaker": "user", "role": "user", "session": None}
        return {**said, "ts": at.isoformat(), "meta": {}}

    def _query(
        self, category: str, name: str, text: str, relevant: Sequence[_Version], answer: str | None
    ) -> dict[str, object]:
        query = {"id": f"{self._tenant}:{name}:{category}", "tenant": self._tenant, "text": text, "category": category}
        return {
            **query,
            "relevant": [version.id for version in relevant],
            "answer": answer,
            "ts": self._now.isoformat(),
            "meta": {},
        }

    def _asked(
        self, attribute: Attribute, versions: list[_Version]
    ) -> Iterator[tuple[dict[str, object], dict[str, object] | None]]:
        name, last = attribute.name, versions[-1]
        current = self._query("current", name, self._words(_CURRENT, attribute, last.value), [last], last.value)
        yield current, self._update(current, versions)
        early = self._date(versions[0].at - timedelta(days=20))
        yield self._query("before_any", name, f"{attribute.was} on {early}?", (), None), None
        chosen = self._chance.randrange(len(versions))
        after = versions[chosen + 1].at if chosen + 1 < len(versions) else self._now
        middle = versions[chosen].at + (after - versions[chosen].at) / 2
        dated = f"{attribute.was} on {self._date(middle)}?"
        yield self._query("as_of", name, dated, [versions[chosen]], versions[chosen].value), None
        if len(versions) > 1:
            yield self._query("history", name, self._words(_HISTORY, attribute, last.value), versions, None), None
            when = self._words(_WHEN, attribute, last.value)
            yield self._query("when", name, when, [last], last.at.isoformat()), None
            before = self._words(_BEFORE, attribute, last.value)
            yield self._query("before", name, before, [versions[-2]], versions[-2].value), None

    def _update(self, query: Mapping[str, object], versions: Sequence[_Version]) -> dict[str, object] | None:
        if len(versions) < 2:
            return None
        new, old = [versions[-1].id], [version.id for version in versions[:-1]]
        return {
            "id": query["id"],
            "tenant": self._tenant,
            "query": query["text"],
            "new": new,
            "old": old,
            "answer": query["answer"],
        }

    def _date(self, at: datetime) -> str:
        return at.strftime(self._chance.choice(_DATES))

    def _words(self, wordings: Sequence[str], attribute: Attribute, value: str) -> str:
        ask = attribute.ask
        lower, bare = ask[0].lower() + ask[1:], ask.removesuffix("?")
        return self._chance.choice(wordings).format(
            ask=ask, lower=lower, bare=bare, was=attribute.was, noun=attribute.noun, v=value
        )


if __name__ == "__main__":
    main()
