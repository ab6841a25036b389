"""The control link: a run's outgoing HTTP connection to the control plane. A job also runs without a control link."""
