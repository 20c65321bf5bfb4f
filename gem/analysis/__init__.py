"""What the turns of an episode were worth: `true_advantage` measures it by forking, `exact` computes it where all
outcomes can be enumerated, and `mistakes` asks the expert."""
