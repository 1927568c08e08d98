export declare const ask: (question: string) => string;
