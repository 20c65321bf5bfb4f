"""The tool bench of people who play: `controls` has a control for each tool and what the tools have answered, `trials`
runs a program on the tests that its problem shows. Begin with `controls`."""
