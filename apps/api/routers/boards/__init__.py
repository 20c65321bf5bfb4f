"""Operations on benchmarks, boards, challenges and standings."""
