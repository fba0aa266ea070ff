"""Figures of a replay: those of the RM-Replay paper, of any schedules."""
