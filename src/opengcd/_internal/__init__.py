"""Modules that all packages of OpenGCD use; not part of its public interface."""
