"""The lab: playing question series under several memory policies, and grading answers against gold."""
