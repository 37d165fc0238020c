"""What does the command line read and print?"""
