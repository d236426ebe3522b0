"""NVFlare's side: start-up kits, the job they run, the admin's line, and the simulator."""
