"""How results are measured: trained models, attack rows, agreement with what is printed."""
