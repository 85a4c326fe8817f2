"""Three agents on one store: `python examples/agents_with_roles.py`.

Each keeps its own notes. Only the lead may tell the team something, and a stranger's project hears nothing of it.
"""

from mnemic import MemoryClassification, sync
from mnemic.errors import AccessDeniedError

SHARED = MemoryClassification.SHARED
QUESTION = "When do we sail?"


def show(name: str, memory: sync.MemoryEngine) -> None:
    hits = memory.search(QUESTION)
    print(f"{name}: {[f'{hit.content} ({hit.volk_id})' for hit in hits]}")


def main() -> None:
    with sync.open_engine(":memory:") as engine:
        boats = engine.acting_as(tenant_id="harbour", project_id="boats")
        lead = boats.acting_as(volk_id="lead", roles=["team_lead"])
        crew = boats.acting_as(volk_id="crew")
        kitchen = crew.acting_as(volk_id="cook", project_id="kitchen")

        lead.store("We sail on Friday at six.", classification=SHARED)
        lead.store("If the wind turns we sail on Sunday; not decided yet.")
        crew.store("Pack the oilskins before we sail.")

        try:
            crew.store("We sail on Monday!", classification=SHARED)
        except AccessDeniedError as error:
            print(f"crew may not tell the team: {error.code}")

        show("lead", lead)
        show("crew", crew)
        show("cook", kitchen)
        print(f"audit intact: {all(part.valid for part in lead.verify_audit().values())}")


if __name__ == "__main__":
    main()
