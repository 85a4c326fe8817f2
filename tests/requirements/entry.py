"""One requirement: what must hold, who answers for it, and whether a test proves it yet."""

import re
from dataclasses import dataclass

CAPABILITIES = {
    "retrieval": "units, channels, dates, slots, late interaction and calibration",
    "tiers": "Redis and Neo4j, and the movement between tiers",
    "governance": "Prolog, delegation, sharing, changes of class, quotas and anchored audit",
    "erasure": "erasure along the lineage, backup and verification",
    "encryption": "encryption at rest",
    "cognition": "analysis, contradiction, consolidation and feedback",
    "orchestrator": "the pipeline with its failure contract",
    "service": "HTTP, JSON-RPC, MCP and the stream of events",
    "console": "the console in the browser",
    "integrations": "the kernel hook, the context packet and adapters of agent frameworks",
    "backends": "Chroma, Pinecone, LanceDB and PostgreSQL",
    "release": "upgrades, soak tests and the evidence of a release",
}

# The seed gives its first three user stories priority 1; what does not serve them has priority 2.
_SECOND = re.compile(
    r"US-00[456]|FR-005|FR-010|FR-015|REQ-010-(01[5-9]|02[0-3]|031|035|039|040|046|048|050)"
    r"|ENG-0(07|11|13)|PRV-0(39|4[5-9]|5|6)|ENC|COG|ORC|WIR|ERA|EVT-01[3-6]|AUD-00[4-7]|CHK"
    r"|GOV-0(0[4-8]|1[0-2457-9]|20)|REL-0(0[89]|1)|P([89]|\d\d)|D\d\d"
)


@dataclass(frozen=True, slots=True)
class Requirement:
    """One id of the contract, of the promises (P) or of the developers' cases (D), in our own words."""

    id: str
    text: str
    modules: str
    deferred_to: str = ""

    @property
    def priority(self) -> str:
        return "P2" if _SECOND.match(self.id) else "P1"
