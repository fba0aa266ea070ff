"""Another program as the batch level: started, connected, told what happens, and asked what starts."""
