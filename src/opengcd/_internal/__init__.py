"""What all packages of OpenGCD stand on; not part of its public interface."""
